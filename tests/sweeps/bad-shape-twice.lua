-- expect: shapes: entry 2: there are two shapes "a"
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", M = 2 }, { name = "a", M = 3 } } }
