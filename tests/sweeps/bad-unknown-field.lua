-- expect: line 2: modles: unknown field; did you mean "models"?
return sweep { candidates = "store", problems = "01_allreduce", modles = {} }
