-- expect: M = 2.5 is not a whole number
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", M = 2.5 } } }
