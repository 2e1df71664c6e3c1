-- expect: attempt to call a nil value (global 'collectgarbage'); sweep files have no 'collectgarbage'
collectgarbage("x")
