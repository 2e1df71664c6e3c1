-- expect: the sweep holds too many values
local t = {}
for i = 1, 1000 do t[i] = i end
local u = {}
for i = 1, 1000 do u[i] = t end
return sweep { candidates = "store", problems = "01_allreduce", slurm = { u = u } }
