-- expect: samples: expected a whole number, found a text
return sweep { candidates = "store", problems = "01_allreduce", samples = "3" }
