-- expect: iterations: expected a table with "warmup" or "timed", found a number
return sweep { candidates = "store", problems = "01_allreduce", iterations = 3 }
