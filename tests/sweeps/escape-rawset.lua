-- expect: attempt to call a nil value (global 'rawset'); sweep files have no 'rawset'
rawset("x")
