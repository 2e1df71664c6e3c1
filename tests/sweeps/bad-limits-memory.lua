-- expect: limits: memory_mb: expected a whole number, found a text
return sweep { candidates = "store", problems = "01_allreduce", limits = { memory_mb = "8G" } }
