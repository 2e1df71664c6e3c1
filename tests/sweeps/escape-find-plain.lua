-- expect: stopped after 100000000 instructions
local s = ("a"):rep(1 << 20)
local x = s:find(("a"):rep(1 << 19) .. "b", 1, true)
