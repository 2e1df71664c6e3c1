-- expect: attempt to call a nil value (global 'print'); sweep files have no 'print'
print("x")
