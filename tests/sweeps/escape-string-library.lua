-- expect: attempt to call a nil value (method
string.rep = nil
local s = ("x"):rep(3)
