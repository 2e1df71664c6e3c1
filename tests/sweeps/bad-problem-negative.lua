-- expect: problems: -1 is outside 1..
return sweep { candidates = "store", problems = -1 }
