-- expect: attempt to call a nil value (field 'move')
table.move({}, 1, math.maxinteger - 1, 2)
