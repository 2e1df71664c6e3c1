-- expect: slurm: expected a table with names, found a list
return sweep { candidates = "store", problems = "01_allreduce", slurm = { 1 } }
