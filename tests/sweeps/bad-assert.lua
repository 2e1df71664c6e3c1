-- expect: no gpus
assert(false, "no gpus")
