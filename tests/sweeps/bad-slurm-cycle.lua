-- expect: tables are nested too deeply
local t = {}
t.t = t
return sweep { candidates = "store", problems = "01_allreduce", slurm = t }
