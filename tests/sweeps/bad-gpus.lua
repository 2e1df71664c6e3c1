-- expect: gpus: entry 2: 0 is outside 1..
return sweep { candidates = "store", problems = "01_allreduce", gpus = { 2, 0 } }
