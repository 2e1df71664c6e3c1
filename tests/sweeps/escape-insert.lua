-- expect: stopped after 100000000 instructions
local t = {}
for i = 1, 1000000 do t[i] = i end
for i = 1, 1000000 do table.insert(t, 1, i) end
