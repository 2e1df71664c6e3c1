-- expect: stopped: it needs more than 256 MiB of memory
local s = ("x"):rep(1 << 30)
