-- expect: problems: entry 1: expected a whole number, found 1.5
return sweep { candidates = "store", problems = { 1.5 } }
