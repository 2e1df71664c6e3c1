-- expect: gpus: 100000 is outside 1..
return sweep { candidates = "store", problems = "01_allreduce", gpus = 100000 }
