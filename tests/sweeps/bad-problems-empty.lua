-- expect: problems: the list is empty
return sweep { candidates = "store", problems = {} }
