-- expect: problems: entry 1: expected a text, found true
return sweep { candidates = "store", problems = { true } }
