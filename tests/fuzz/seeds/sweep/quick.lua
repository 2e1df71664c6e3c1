-- SPDX-License-Identifier: Apache-2.0
-- A sweep of a few seconds on one machine: the example candidates on six problems, on its GPUs or, where it has none, on its cores.
--
--     pkb plan sweeps/quick.lua                    what would run
--     pkb run sweeps/quick.lua --run runs/quick    run it
--
-- A sweep is every combination of models, problems, samples, world sizes, dtypes and shapes that can run. docs/sweeps.md explains
-- every field.

-- The world sizes of `list` that this machine can run.
local function worlds(list)
    local fit = {}
    for _, world in ipairs(list) do
        if world <= machine.ranks then
            fit[#fit + 1] = world
        end
    end
    return fit
end

local cuda = machine.device == "cuda"

return sweep {
    name = "quick",

    -- Where the candidates are: <folder>/<model>/<NN_name>/<sample>.c or .cu, relative to this file.
    candidates = "../examples/candidates",
    models     = { "careless", "direct", "plain" },
    samples    = 3, -- 1, 2 and 3

    -- By name, by number, by pattern ("*gemm*"), by family ("collective"), or problems.all.
    problems = { "01_allreduce", "02_allgather", "07_reducescatter", "08_alltoall", 13, "18_tp_rms_norm" },

    gpus   = cuda and worlds { 1, 2, 4, 8 } or { 2, 4 }, -- ranks: GPUs, or processes on the host
    device = machine.device,
    dtypes = { "bf16" },

    -- "tiny" and "paper" come with every problem. A shape of one's own sets the parameters that a problem has.
    shapes = { "tiny", { name = "small", M = 256, N = 256, K = 64 } },

    -- Tiny problems on 2 ranks, small ones on all other worlds: one of each keeps the sweep short.
    where = function(cell)
        return (cell.shape == "tiny") == (cell.world == 2)
    end,

    trials     = 5, -- checks, each with fresh inputs
    iterations = { warmup = 5, timed = 20 },

    -- A candidate that never comes back is given up after this time, one that asks for more memory gets none.
    limits = { seconds = cuda and 20 or 3, memory_mb = 4096 },
}
