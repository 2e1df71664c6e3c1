-- expect: where: expected function(cell) ... end, found true
return sweep { candidates = "store", problems = "01_allreduce", where = true }
