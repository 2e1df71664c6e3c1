-- expect: is 'return' missing in front of it?
sweep { candidates = "store", problems = "01_allreduce" }
