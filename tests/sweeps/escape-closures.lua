-- expect: stopped: it needs more than 256 MiB of memory
local last
while true do local before = last; last = function() return before end end
