-- expect: is longer than 64 bytes
return sweep { candidates = "store", problems = "01_allreduce", name = ("n"):rep(65) }
