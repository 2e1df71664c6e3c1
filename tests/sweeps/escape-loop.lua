-- expect: line 2: stopped after 100000000 instructions
while true do end
