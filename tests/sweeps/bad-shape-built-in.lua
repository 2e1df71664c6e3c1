-- expect: shapes: entry 1: the name "tiny" is taken
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "tiny", M = 2 } } }
