-- expect: attempt to index a nil value (global 'io'); sweep files have no 'io'
local x = io.open
