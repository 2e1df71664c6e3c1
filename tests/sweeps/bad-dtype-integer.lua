-- expect: found "i32"
return sweep { candidates = "store", problems = "01_allreduce", dtypes = { "i32" } }
