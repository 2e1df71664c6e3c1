-- expect: samples: entry 2: 1001 is outside 1..1000
return sweep { candidates = "store", problems = "01_allreduce", samples = { 1, 1001 } }
