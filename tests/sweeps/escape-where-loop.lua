-- expect: ok
return sweep { candidates = "store", problems = "01_allreduce", where = function() while true do end end }
