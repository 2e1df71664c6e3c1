-- expect: stopped after 100000000 instructions
local a = ("a"):rep(40)
local x = a:find(("a?"):rep(40) .. a)
