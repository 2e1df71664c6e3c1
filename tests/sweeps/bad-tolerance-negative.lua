-- expect: tolerance: atol: -1 is outside 0..1e+06
return sweep { candidates = "store", problems = "01_allreduce", tolerance = { atol = -1 } }
