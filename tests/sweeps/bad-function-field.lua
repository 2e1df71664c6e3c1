-- expect: line 2: trials: expected a whole number, found a function
return sweep { candidates = "store", problems = "01_allreduce", trials = function() end }
