-- expect: dtypes: expected "bf16", "f16", "f32" or "f64", found "fp16"; did you mean "f16"?
return sweep { candidates = "store", problems = "01_allreduce", dtypes = { "fp16" } }
