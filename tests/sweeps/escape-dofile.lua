-- expect: attempt to call a nil value (global 'dofile'); sweep files have no 'dofile'
dofile("x")
