-- expect: attempt to call a nil value (global 'getmetatable'); sweep files have no 'getmetatable'
getmetatable("x")
