-- expect: problems: entry 1: lists are nested too deeply
return sweep { candidates = "store", problems = { { { 1 } } } }
