-- expect: samples: 0 is outside 1..1000
return sweep { candidates = "store", problems = "01_allreduce", samples = 0 }
