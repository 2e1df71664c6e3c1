-- expect: attempt to index a nil value (global 'debug'); sweep files have no 'debug'
local x = debug.open
