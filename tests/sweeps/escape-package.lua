-- expect: attempt to index a nil value (global 'package'); sweep files have no 'package'
local x = package.open
