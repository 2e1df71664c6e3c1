-- expect: stopped after 100000000 instructions
local s = (""):rep(math.maxinteger)
