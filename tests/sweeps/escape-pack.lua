-- expect: attempt to call a nil value (field 'pack')
string.pack("i", 1)
