-- expect: ok
return sweep { candidates = "store", problems = "01_allreduce", slurm = {}, limits = {}, iterations = {}, tolerance = {} }
