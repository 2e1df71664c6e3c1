-- expect: is not a folder
return sweep { candidates = "good-minimal.lua", problems = 1 }
