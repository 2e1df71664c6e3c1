-- SPDX-License-Identifier: Apache-2.0
-- The published setting: all problems, six models, three samples each, 8 GPUs, bf16, the paper's sizes.
--
-- The candidates are yours to bring: put them into folders like candidates/gpt-5.5/01_allreduce/1.cu beside the folder of this file, or
-- copy the file and let `candidates` name your store.

local store = "../candidates"

-- One folder of the store per model. The names are plain folder names: rename them, drop some, add your own, or write models.all for
-- every folder that is there.
local models = {
    "claude-opus-4.7",
    "deepseek-v4-pro",
    "gemini-3-pro",
    "gemini-3-pro-agentic", -- the same model with compile, check and time feedback, about 20 steps
    "glm-5.1",
    "gpt-5.5",
}

return sweep {
    name       = "paper",
    candidates = store,
    models     = models,
    samples    = 3,

    problems = problems.all,
    gpus     = { 8 },
    device   = "cuda", -- .cu candidates, and .py where there is no .cu
    dtypes   = { "bf16" },
    shapes   = { "paper" },

    trials     = 5,
    iterations = { warmup = 500, timed = 100 },

    -- The default inputs and tolerances are hardened: a constant, a zero or a copied input does not pass, and every correct order of
    -- evaluation does. For numbers that compare with the published tables, take the benchmark's own:
    --
    --     inputs    = "pkb",
    --     tolerance = { profile = "pkb", atol = 0.01, rtol = 0.01 },

    limits = { seconds = 300, memory_mb = 0 }, -- 0: GPU runtimes reserve more address space than they use

    -- What a cell takes, for the size of the jobs.
    time = function(cell)
        if cell.family == "expert_parallel" or cell.family == "context_parallel" then
            return 60
        end
        return 20
    end,
}
