-- expect: inputs: expected "hardened" or "pkb", found a number
return sweep { candidates = "store", problems = "01_allreduce", inputs = 1 }
