-- expect: slurm: a table must be a list without holes or have names only
return sweep { candidates = "store", problems = "01_allreduce", slurm = { [1] = 1, [3] = 2 } }
