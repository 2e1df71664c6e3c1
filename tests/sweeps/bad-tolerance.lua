-- expect: tolerance: expected "hardened" or "pkb", found "hard"
return sweep { candidates = "store", problems = "01_allreduce", tolerance = "hard" }
