-- expect: shapes: entry 1: name: "a/b" must consist of letters
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a/b", M = 2 } } }
