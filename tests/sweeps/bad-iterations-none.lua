-- expect: iterations: timed: 0 is outside 1..1000000
return sweep { candidates = "store", problems = "01_allreduce", iterations = { timed = 0 } }
