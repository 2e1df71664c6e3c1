-- expect: stopped after 100000000 instructions
local function f() return f() end
f()
