-- expect: ok
return sweep {
  candidates = "store", problems = { 1, "02_allgather", "gemm_allreduce", "13", "*gather*", family "collective", problems.family "tensor_parallel" },
  models = { "alpha", "b*", "alpha" }, samples = { 3, 1, 1 }, gpus = { 4, 2, 2.0 }, dtypes = { "f32", "bf16" },
  shapes = { "tiny", "paper", { name = "wide", N = 4096, base = "tiny" } },
}
