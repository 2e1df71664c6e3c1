-- expect: line 2: there is no family "colective"; did you mean "collective"?
return sweep { candidates = "store", problems = family "colective" }
