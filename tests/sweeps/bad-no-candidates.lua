-- expect: line 2: candidates: missing
return sweep { problems = 1 }
