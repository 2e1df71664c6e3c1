-- expect: problems: no problem matches "*nothing*"
return sweep { candidates = "store", problems = "*nothing*" }
