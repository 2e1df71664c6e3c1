-- expect: stopped: it needs more than 256 MiB of memory
local t = {}
for i = 1, 1 << 40 do t[i] = i end
