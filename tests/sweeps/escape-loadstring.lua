-- expect: attempt to call a nil value (global 'loadstring'); sweep files have no 'loadstring'
loadstring("x")
