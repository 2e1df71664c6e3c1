-- expect: slurm: a: a text must be UTF-8
return sweep { candidates = "store", problems = "01_allreduce", slurm = { a = "\xff" } }
