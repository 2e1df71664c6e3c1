-- expect: seed: -1 is outside 0..
return sweep { candidates = "store", problems = "01_allreduce", seed = -1 }
