-- expect: did you mean "alpha"?
return sweep { candidates = "store", problems = "01_allreduce", models = { "alhpa" } }
