-- expect: time: expected function(cell) ... end, found a table with names
return sweep { candidates = "store", problems = "01_allreduce", time = { a = 1 } }
