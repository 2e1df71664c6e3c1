-- expect: line 2: problems: missing; problems.all stands for all
return sweep { candidates = "store" }
