-- expect: stopped: it needs more than 256 MiB of memory
local t = {}
while true do t = { t, t, t, t, t, t, t, t, t, t, t, t, t, t, t, t } end
