-- expect: attempt to call a nil value (field 'dump')
local lib = {}
for k, v in pairs(string) do lib[k] = v end
lib.dump(error)
