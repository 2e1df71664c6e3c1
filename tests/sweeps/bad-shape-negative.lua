-- expect: M = -1 is negative
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", M = -1 } } }
