-- expect: M: expected a number, found a text
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", M = "2" } } }
