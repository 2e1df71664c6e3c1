-- expect: ok
return sweep {
  name = "every-field", candidates = "store", problems = problems.all, models = models.all, samples = 2, gpus = 2,
  dtypes = "bf16", shapes = { name = "one", M = 8 }, device = "host", trials = 7, seed = 0x7fffffffffffffff, inputs = "pkb",
  tolerance = { atol = 0.5, rtol = 0 }, iterations = { warmup = 0, timed = 1e3 }, limits = { seconds = 0.5, memory_mb = 0 },
  where = function(cell) return cell.id == 1 end, time = function(cell) return cell.world * 1.5 end,
  slurm = { partition = "gpu", array = { 1, 2 }, nested = { deep = { er = true } } },
}
