-- expect: limits: seconds: 0 is outside 0.1..604800
return sweep { candidates = "store", problems = "01_allreduce", limits = { seconds = 0 } }
