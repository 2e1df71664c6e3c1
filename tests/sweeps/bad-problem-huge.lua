-- expect: problems: 1e+300 is outside
return sweep { candidates = "store", problems = 1e300 }
