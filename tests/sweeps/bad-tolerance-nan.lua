-- expect: tolerance: atol: a number must be finite
return sweep { candidates = "store", problems = "01_allreduce", tolerance = { atol = 0/0 } }
