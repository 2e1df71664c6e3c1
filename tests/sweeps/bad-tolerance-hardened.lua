-- expect: tolerance: atol and rtol belong to profile = "pkb"
return sweep { candidates = "store", problems = "01_allreduce", tolerance = { profile = "hardened", atol = 1 } }
