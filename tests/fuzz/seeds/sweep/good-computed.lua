-- expect: ok
local t = { candidates = "store" }
t.problems = {}
for name in ("01_allreduce,02_allgather"):gmatch("[^,]+") do table.insert(t.problems, name) end
table.sort(t.problems, function(a, b) return a > b end)
t.name = ("%s-%d"):format("computed", #t.problems) .. utf8.char(0x2d) .. math.max(1, 2)
return sweep(t)
