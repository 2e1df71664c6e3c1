-- expect: candidates: 
return sweep { candidates = "no-such-store", problems = 1 }
