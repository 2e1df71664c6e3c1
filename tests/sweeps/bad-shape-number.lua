-- expect: shapes: entry 1: expected "paper", "tiny" or { name
return sweep { candidates = "store", problems = "01_allreduce", shapes = { 3 } }
