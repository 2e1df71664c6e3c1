-- SPDX-License-Identifier: Apache-2.0
-- Example candidates for the families of problems that sweeps/quick.lua leaves out: one or two problems of each, with outputs that are
-- updated in place, split sizes that the host reads, rows that are counted by the data, and grids of ranks.
--
--     pkb run sweeps/families.lua --run runs/families
--
-- They are .c files: the sweep runs on the host, also where there are GPUs.

return sweep {
    name = "families",

    candidates = "../examples/candidates",
    models     = { "careless", "direct" },
    samples    = { 1 },

    problems = {
        "09_layernorm_backward",                                                -- data_parallel
        "10_embedding_lookup", "70_torchrec_kjt_all2all",                       -- recommender
        "21_clip_grad_norm_no_ep", "43_fused_adam_grad_unshard_allgather",      -- fsdp_zero
        "28_moe_pre_all2all", "49_moe_ep_balanced",                             -- expert_parallel
        "36_ulysses_gather_seq_scatter_heads", "54_ring_attention",             -- context_parallel
        "45_reducescatter_fused_rmsnorm",                                       -- sequence_parallel
        "46_gemv_decode", "73_vocab_parallel_cross_entropy_loss",               -- tensor_parallel
        "56_ring_attention_pp",                                                 -- pipeline_parallel
        "59_physicsnemo_distributed_rfft", "85_distributed_sample_sort",        -- scientific
        "63_deepmd_kalman_filter_optimizer", "86_tp_muon_orthogonalization",    -- optimizer
        "65_gnn_feature_exchange_all2all", "67_gnn_sparse_embedding_all2all",   -- graph
        "82_vocab_parallel_log_prob_topk",                                      -- reinforcement_learning
        "87_conv2d_boundary_exchange",                                          -- vision
    },

    gpus   = { 2, 4 },
    device = "host",
    dtypes = { "bf16", "f32" },

    -- "odd" has sizes and switches that the published shapes leave alone: a parameter counts for the problems that have it.
    shapes = {
        "tiny",
        {
            name = "odd", base = "tiny",
            U = 9, causal = 0, weights = 1, pdim = 0, type = 3, steps = 4, top_k = 0, top_p = 0.5, stride = 2, padding = 2,
            G = 5, X = 21, H = 14, B = 3, D = 5, tokens = 1, n = 17, p = 33,
        },
    },

    -- One setting of the odd shape, and one dtype where it does not matter.
    where = function(cell)
        if cell.shape == "odd" and (cell.model ~= "direct" or cell.world ~= 2) then
            return false
        end
        return cell.dtype == "bf16" or (cell.shape == "tiny" and cell.id ~= 59 and cell.id ~= 63)
    end,

    trials     = 6, -- many problems have inputs of other kinds in every third trial, or fourth
    iterations = { warmup = 2, timed = 8 },

    limits = { seconds = 3, memory_mb = 4096 },
}
