-- expect: line 2: candidates: expected a text, found a number
return sweep { candidates = 3, problems = 1 }
