-- expect: shapes: expected "paper" or "tiny", found "tny"; did you mean "tiny"?
return sweep { candidates = "store", problems = "01_allreduce", shapes = { "tny" } }
