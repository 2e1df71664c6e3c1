-- SPDX-License-Identifier: Apache-2.0
-- A scaling study: the same candidates on 1, 2, 4 and 8 GPUs.
--
-- World sizes that a problem cannot run (its sizes do not divide) are left out; `pkb plan` lists them with the reason.

-- Strong scaling keeps the whole problem, weak scaling the part of each rank. Most problems name sizes per rank, so the "paper"
-- shape scales weakly. A list of shapes can be computed like any other value:
local shapes = { "paper" }
for _, n in ipairs { 256, 512, 2048 } do
    shapes[#shapes + 1] = { name = "square-" .. n, M = n, N = n }
end

return sweep {
    name       = "scaling",
    candidates = "../candidates",
    models     = models.all, -- every folder of the store
    samples    = 3,

    problems = { problems.family "collective", family "tensor_parallel" },
    gpus     = { 1, 2, 4, 8 },
    device   = "cuda",
    dtypes   = { "bf16" },
    shapes   = shapes,

    iterations = { warmup = 100, timed = 100 },
    limits     = { seconds = 300, memory_mb = 0 },

    -- The large shapes matter at full size only.
    where = function(cell)
        return cell.shape ~= "square-2048" or cell.world == 8
    end,
}
