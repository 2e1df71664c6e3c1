-- expect: attempt to call a nil value (field 'random')
local x = math.random()
