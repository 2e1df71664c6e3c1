-- expect: line 2: models: "alhpa" is not a folder of 
return sweep { candidates = "store", problems = "01_allreduce", models = { "alhpa" } }
