-- expect: stopped after 100000000 instructions
for x in ("a"):rep(1000):gmatch((".*"):rep(9) .. "b") do end
