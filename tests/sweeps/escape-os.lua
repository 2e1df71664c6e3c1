-- expect: attempt to index a nil value (global 'os'); sweep files have no 'os'
local x = os.open
