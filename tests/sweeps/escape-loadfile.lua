-- expect: attempt to call a nil value (global 'loadfile'); sweep files have no 'loadfile'
loadfile("x")
