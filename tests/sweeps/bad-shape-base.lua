-- expect: shapes: entry 1: base: expected "paper" or "tiny", found "small"
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", M = 2, base = "small" } } }
