-- expect: line 2: limits: seconds: a function cannot be used here
return sweep { candidates = "store", problems = "01_allreduce", limits = { seconds = function() end } }
