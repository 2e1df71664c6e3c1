-- expect: sweep { ... } takes named fields only
return sweep { candidates = "store", problems = "01_allreduce", 3 }
