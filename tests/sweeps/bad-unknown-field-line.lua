-- expect: line 5: zzz: unknown field
return sweep {
  candidates = "store",
  problems = { "01_allreduce" },
  zzz = 1,
}
