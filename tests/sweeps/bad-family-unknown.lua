-- expect: there is no family "quantum"; 'pkb problems' lists them
return sweep { candidates = "store", problems = problems.family "quantum" }
