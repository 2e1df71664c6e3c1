-- expect: candidates: the text is empty
return sweep { candidates = "", problems = 1 }
