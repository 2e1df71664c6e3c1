-- expect: line 2: attempt to call a nil value (global 'sweeep'); did you mean 'sweep'?
return sweeep { }
