-- expect: ok
--[==[ sweep { problems = "no such problem" ]] ]==]
return sweep --[[ here ]] ({ -- problems = 3
  [ [[candidates]] ] = "store", problems = [==[01_allreduce]==] })
