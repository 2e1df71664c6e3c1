-- expect: slurm: a: a text must not hold a 0 byte
return sweep { candidates = "store", problems = "01_allreduce", slurm = { a = "x\0y" } }
