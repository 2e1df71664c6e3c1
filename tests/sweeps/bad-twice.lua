-- expect: line 3: sweep was already called in line 2
sweep { candidates = "store", problems = "01_allreduce" }
return sweep { candidates = "store", problems = "01_allreduce" }
