-- expect: models: entry 1: expected a text, found a number
return sweep { candidates = "store", problems = "01_allreduce", models = { 1 } }
