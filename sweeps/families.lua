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
        "09_layernorm_backward",
        "21_clip_grad_norm_no_ep", "43_fused_adam_grad_unshard_allgather",
        "28_moe_pre_all2all", "49_moe_ep_balanced",
        "36_ulysses_gather_seq_scatter_heads", "54_ring_attention",
        "45_reducescatter_fused_rmsnorm",
        "56_ring_attention_pp",
        "65_gnn_feature_exchange_all2all", "67_gnn_sparse_embedding_all2all",
        "73_vocab_parallel_cross_entropy_loss",
    },

    gpus   = { 2, 4 },
    device = "host",
    dtypes = { "bf16", "f32" },
    shapes = { "tiny" },

    trials     = 6, -- many problems have inputs of other kinds in every third trial, or fourth
    iterations = { warmup = 2, timed = 8 },

    limits = { seconds = 3, memory_mb = 4096 },
}
