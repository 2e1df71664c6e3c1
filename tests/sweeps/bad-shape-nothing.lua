-- expect: shapes: entry 1: "a": sets no parameter
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a" } } }
