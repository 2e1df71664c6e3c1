-- expect: models: "../store" is not a folder of
return sweep { candidates = "store", problems = "01_allreduce", models = { "../store" } }
