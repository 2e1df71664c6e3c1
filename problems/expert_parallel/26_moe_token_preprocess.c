/* SPDX-License-Identifier: Apache-2.0 */
/* 26 moe_token_preprocess: from the selected experts, how many rows every rank will send to and receive from every other.
 *
 * Parameters   M: tokens per rank. E: experts, divided evenly over the ranks; rank q owns experts q*L to q*L + L - 1, L = E /
 *              W. k: slots for experts per token.
 * Input        mask (E, k, M) of f32, different on every rank: mask[e, j, t] is 1 where slot j of token t names expert e, else 0.
 *              Two slots of a token may name the same expert; then it counts twice.
 * Outputs      With c_r[e] = sum over j, t of mask[e, j, t] on rank r:
 *                  input_splits (W) of i64    input_splits[q] = sum over e of rank q of c_r[e]
 *                  output_splits (W) of i64   output_splits[q] = sum over j of n_local[q, j]
 *                  n_local (W, L) of f32      n_local[q, j] = c_q[r*L + j]
 *                  n_local_sum (L) of f32     n_local_sum[j] = sum over q of n_local[q, j]
 *              output_splits[q] on rank r is input_splits[r] on rank q. All are different on every rank; none depends on T.
 * One rank     both splits are k*M.
 * Arithmetic   small integers in f32, exact.
 * Check        exact.
 * Inputs       problems/expert_parallel/draw.h: experts of unequal popularity, some of which nobody selects, the slots of a token
 *              independent of each other.
 * Ideal cost   a rank sends each other the counts of that one's experts.
 */
#include "problems/expert_parallel/draw.h"

static const struct problem_param params[] = {
    {"M", 1024, 48, true, "tokens per rank"},
    {"E", 8, 8, true, "experts over all ranks"},
    {"k", 2, 2, true, "slots for experts per token"},
};

enum { INPUT_SPLITS, OUTPUT_SPLITS, N_LOCAL, N_LOCAL_SUM };

/* Sums of counts are exact in f32 up to here. */
#define LARGEST_COUNT 16777216

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t slots;
    if (moe_require_experts(s, problem_int(s, "E"), problem_int(s, "k"), err) < 0)
        return -1;
    if (__builtin_mul_overflow(problem_int(s, "M"), problem_int(s, "k") * s->world, &slots) || slots > LARGEST_COUNT)
        return pkb_error_set(err, "more than %d slots over all ranks cannot be counted in f32", LARGEST_COUNT);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "mask", PKB_F32, RT_SHAPE(problem_int(s, "E"), problem_int(s, "k"), problem_int(s, "M")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t local = problem_int(s, "E") / s->world;
    kit_tensor(&t[INPUT_SPLITS], "input_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[OUTPUT_SPLITS], "output_splits", PKB_I64, RT_SHAPE(s->world));
    kit_tensor(&t[N_LOCAL], "n_local", PKB_F32, RT_SHAPE(s->world, local));
    kit_tensor(&t[N_LOCAL_SUM], "n_local_sum", PKB_F32, RT_SHAPE(local));
    return 4;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct moe_draw d;
    moe_draw_begin(s, set, problem_int(s, "E"), problem_int(s, "k"), false, &d);
    moe_draw_mask(&d, problem_int(s, "M"), &set->in[0]);
}

static void reference(const struct problem_call *c)
{
    int64_t experts = problem_call_int(c, "E"), slots = problem_call_int(c, "k") * problem_call_int(c, "M");
    int64_t world = c->world->size, local = experts / world;
    pkb_tensor *counts = rt_new(c->rt, PKB_F32, RT_SHAPE(experts));
    pkb_tensor *all = rt_new(c->rt, PKB_F32, RT_SHAPE(world, experts));
    rt_reduce_axis(c->rt, RT_SUM, counts, rt_view(c->rt, &c->in[0], RT_SHAPE(experts, slots)), 1);
    rt_all_gather(c->rt, c->world, all, counts);
    rt_slice(c->rt, &c->out[N_LOCAL], all, 1, c->world->rank * local);
    rt_reduce_axis(c->rt, RT_SUM, &c->out[INPUT_SPLITS], rt_view(c->rt, counts, RT_SHAPE(world, local)), 1);
    rt_reduce_axis(c->rt, RT_SUM, &c->out[OUTPUT_SPLITS], &c->out[N_LOCAL], 1);
    rt_reduce_axis(c->rt, RT_SUM, &c->out[N_LOCAL_SUM], &c->out[N_LOCAL], 0);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double experts = problem_real(s, "E"), local = experts / s->world;
    double slots = experts * problem_real(s, "k") * problem_real(s, "M");
    cost->flops = slots;
    cost->hbm_bytes = 4 * slots + 16 * s->world + 4 * s->world * local + 4 * local;
    cost->link_bytes = 4 * local * (s->world - 1.0);
}

const struct problem problem_26 = {
    .id = 26,
    .name = "26_moe_token_preprocess",
    .family = "expert_parallel",
    .origin = "the preprocessing of VeOmni's layer of experts (ByteDance Seed), as in the all-to-all dispatcher of Megatron-LM",
    .summary =
        "Count the tokens per expert, exchange the counts, and derive how many rows every rank sends to and gets from each.",
    .source = "problems/expert_parallel/26_moe_token_preprocess.c",
    .worlds = "E % W == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
