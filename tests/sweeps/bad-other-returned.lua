-- expect: the file must return what sweep { ... } returned
sweep { candidates = "store", problems = "01_allreduce" }
return { candidates = "store", problems = "01_allreduce" }
