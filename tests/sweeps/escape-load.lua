-- expect: attempt to call a nil value (global 'load'); sweep files have no 'load'
load("x")
