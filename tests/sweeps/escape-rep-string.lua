-- expect: stopped: a string would be longer than 1 MiB
local s = ("x"):rep(2 << 20)
