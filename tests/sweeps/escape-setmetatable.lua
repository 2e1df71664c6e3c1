-- expect: attempt to call a nil value (global 'setmetatable'); sweep files have no 'setmetatable'
setmetatable("x")
