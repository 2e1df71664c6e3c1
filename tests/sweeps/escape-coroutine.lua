-- expect: attempt to index a nil value (global 'coroutine'); sweep files have no 'coroutine'
local x = coroutine.open
