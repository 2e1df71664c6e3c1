-- expect: attempt to call a nil value (global 'require'); sweep files have no 'require'
require("x")
