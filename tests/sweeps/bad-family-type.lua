-- expect: family expects a name
return sweep { candidates = "store", problems = family(3) }
