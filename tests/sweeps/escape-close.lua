-- expect: variable 'x' got a non-closable value
local x <close> = {}
