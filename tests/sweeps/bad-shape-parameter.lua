-- expect: "a": no problem of the sweep has a parameter "Q"
return sweep { candidates = "store", problems = "01_allreduce", shapes = { { name = "a", Q = 2 } } }
