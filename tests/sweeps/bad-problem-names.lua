-- expect: problems: expected a text, found a table with names
return sweep { candidates = "store", problems = { first = 1 } }
