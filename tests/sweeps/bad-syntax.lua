-- expect: line 3: '}' expected (to close '{' at line 2) near 'problems'
return sweep { candidates = "store"
problems = 1 }
