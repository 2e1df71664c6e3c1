-- expect: attempt to call a nil value (method 'dump')
local s = ("x"):dump()
