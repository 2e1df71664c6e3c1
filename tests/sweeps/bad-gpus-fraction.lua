-- expect: gpus: entry 1: expected a whole number, found 2.5
return sweep { candidates = "store", problems = "01_allreduce", gpus = { 2.5 } }
