-- expect: tolerance: unknown key 'atoll'
return sweep { candidates = "store", problems = "01_allreduce", tolerance = { atoll = 1 } }
