-- expect: line 5: problems: "01_allredcue" is not a problem; did you mean "01_allreduce"?
return sweep {
  candidates = "store",
  problems = {
    "01_allredcue",
    "02_allgather",
  },
}
