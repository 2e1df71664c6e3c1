-- expect: too many results to unpack
local x = table.unpack({}, 1, 1 << 30)
