-- expect: stopped after 100000000 instructions
local x = ("a"):rep(1000):match((".-"):rep(9) .. "b")
