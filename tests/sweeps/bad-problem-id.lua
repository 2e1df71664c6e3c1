-- expect: problems: entry 2: there is no problem 88
return sweep { candidates = "store", problems = { 1, 88 } }
