-- expect: attempt to call a nil value (global 'xpcall'); sweep files have no 'xpcall'
xpcall("x")
