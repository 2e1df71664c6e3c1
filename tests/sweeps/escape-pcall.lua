-- expect: attempt to call a nil value (global 'pcall'); sweep files have no 'pcall'
pcall("x")
