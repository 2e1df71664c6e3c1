-- expect: iterations: unknown key 'warm-up', expected "warmup" or "timed"; did you mean "warmup"?
return sweep { candidates = "store", problems = "01_allreduce", iterations = { ["warm-up"] = 3 } }
