-- expect: shapes: entry 1: a shape needs a name
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { M = 2 } } }
