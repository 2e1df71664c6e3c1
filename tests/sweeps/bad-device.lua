-- expect: device: expected "host" or "cuda", found "cdua"; did you mean "cuda"?
return sweep { candidates = "store", problems = "01_allreduce", device = "cdua" }
