-- expect: sweep expects one table
return sweep "x"
