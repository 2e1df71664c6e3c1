/* SPDX-License-Identifier: Apache-2.0 */
/* 48 fsdp_and_tp: forward pass of a SwiGLU feed-forward block whose weights are sharded over a grid of ranks.
 *
 * Parameters   n_tp, n_fsdp: the grid, W = n_tp * n_fsdp; 0: n_tp is the smallest divisor of W from 2 on that leaves at least
 *              2, else 1, and n_fsdp follows. D: model width, rounded up to a multiple of both. F: width between, rounded up to
 *              a multiple of n_tp. rows: of the whole batch, rounded up to a multiple of n_fsdp. B = rows / n_fsdp, dr = D /
 *              n_fsdp, fc = F / n_tp.
 * Ranks        tp = r mod n_tp, fs = floor(r / n_tp). TP group: the n_tp neighbours with the same fs. FSDP group: the n_fsdp
 *              ranks with the same tp, n_tp apart.
 * Inputs       x (B, D), rows fs*B .. (fs+1)*B - 1 of the batch, the same within a TP group. W1s, W2s (dr, fc): rows fs*dr and
 *              on, columns tp*fc and on of W1, W2 (D, F). W3s (fc, dr): rows tp*fc, columns fs*dr and on of W3 (F, D). All of
 *              T.
 * Output       y (B, D) of T, the same within a TP group: the group's rows of (silu(X W1) * (X W2)) W3. With rnd() the rounding
 *              to T:
 *     1. A1, A2 (D, fc): the W1s, W2s of the FSDP group, one below the other; A3 (fc, D): its W3s side by side;
 *     2. x1 = rnd(x A1), x2 = rnd(x A2), z = rnd( rnd(silu(x1)) * x2 ), yp = rnd(z A3); silu(a) = a / (1 + exp(-a));
 *     3. y = the sum of yp over the TP group, in T.
 * One rank     nothing is communicated.
 * Arithmetic   products accumulate in f32 (f64 for T = f64; true f32 for T = f32).
 * Check        for every row y of the reference's result, with
 *                  q = (1.5 + sqrt(n_tp)/2 + 6/sqrt(D)) * u + 4 * sqrt(max(D, F)) * e,
 *                  rms(y' - y) <= q * rms(y),   |y'[j] - y[j]| <= 4 * q * rms(y) for every element,
 *              u the unit roundoff of T, e that of the accumulation: z, rounded several times, is larger than a row that
 *              happens to be small, which short rows do more often.
 * Inputs       x N(0,1); W1, W2 N(0,1) / sqrt(D), W3 N(0,1) / sqrt(F), which keep values of order 1. The pkb profile does not
 *              scale.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"D", 256, 16, true, "model width"},
    {"F", 1024, 32, true, "width between the layers"},
    {"rows", 2048, 32, true, "rows of the whole batch"},
    {"n_tp", 0, 0, true, "tensor-parallel ranks; 0: the smallest divisor of W from 2 on that leaves at least 2"},
    {"n_fsdp", 0, 0, true, "FSDP ranks; 0: W / n_tp"},
};

enum { X, W1S, W2S, W3S };

struct grid {
    int tp, fsdp; /* ranks along each */
    int64_t d, f, rows;
    int64_t b, dr, fc; /* a rank's share */
};

static int smallest_divisor(int world)
{
    for (int t = 2; t <= world / 2; t++) {
        if (world % t == 0)
            return t;
    }
    return 1;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t m = a;
    while (m % b != 0)
        m += a;
    return m;
}

static struct grid grid_of(const struct problem_setting *s)
{
    int64_t tp = problem_int(s, "n_tp"), fsdp = problem_int(s, "n_fsdp");
    struct grid g;
    g.tp = tp > 0 && tp <= s->world ? (int)tp : smallest_divisor(s->world);
    g.fsdp = fsdp > 0 && fsdp <= s->world ? (int)fsdp : s->world / g.tp;
    g.d = kit_round_up(problem_int(s, "D"), common_multiple(g.tp, g.fsdp));
    g.f = kit_round_up(problem_int(s, "F"), g.tp);
    g.rows = kit_round_up(problem_int(s, "rows"), g.fsdp);
    g.b = g.rows / g.fsdp;
    g.dr = g.d / g.fsdp;
    g.fc = g.f / g.tp;
    return g;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    struct grid g = grid_of(s);
    if (problem_int(s, "n_tp") > s->world || problem_int(s, "n_fsdp") > s->world || g.tp * g.fsdp != s->world)
        return pkb_error_set(err, "n_tp = %.0f and n_fsdp = %.0f do not make a grid of %d ranks", problem_real(s, "n_tp"),
                             problem_real(s, "n_fsdp"), s->world);
    if (kit_require_least(s, "D", 1, err) < 0 || kit_require_least(s, "F", 1, err) < 0)
        return -1;
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct grid g = grid_of(s);
    kit_tensor(&t[X], "x", s->dtype, RT_SHAPE(g.b, g.d));
    kit_tensor(&t[W1S], "W1s", s->dtype, RT_SHAPE(g.dr, g.fc));
    kit_tensor(&t[W2S], "W2s", s->dtype, RT_SHAPE(g.dr, g.fc));
    kit_tensor(&t[W3S], "W3s", s->dtype, RT_SHAPE(g.fc, g.dr));
    return 4;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct grid g = grid_of(s);
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(g.b, g.d));
    return 1;
}

/* The first rank of a TP group makes the rows of all its members. */
static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct grid g = grid_of(s);
    struct problem_setting first = kit_as_rank(s, s->rank - s->rank % g.tp);
    bool scaled = s->inputs == PROFILE_HARDENED;
    kit_fill_normal(&first, set, X);
    kit_fill_scaled_normal(s, set, W1S, scaled ? 1 / sqrt((double)g.d) : 1);
    kit_fill_scaled_normal(s, set, W2S, scaled ? 1 / sqrt((double)g.d) : 1);
    kit_fill_scaled_normal(s, set, W3S, scaled ? 1 / sqrt((double)g.f) : 1);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static pkb_tensor *matrix(const struct problem_call *c, int64_t rows, int64_t columns)
{
    return rt_new(c->rt, c->setting->dtype, RT_SHAPE(rows, columns));
}

/* Shards (dr, fc) one below the other. */
static pkb_tensor *gather_rows(const struct problem_call *c, const struct grid *g, const struct rt_group *fsdp,
                               const pkb_tensor *shard)
{
    pkb_tensor *whole = matrix(c, g->d, g->fc);
    rt_all_gather(c->rt, fsdp, whole, shard);
    return whole;
}

/* Shards (fc, dr) side by side. */
static pkb_tensor *gather_columns(const struct problem_call *c, const struct grid *g, const struct rt_group *fsdp,
                                  const pkb_tensor *shard)
{
    static const int order[] = {1, 0, 2};
    pkb_tensor *stack = rt_new(c->rt, c->setting->dtype, RT_SHAPE(g->fsdp, g->fc, g->dr));
    pkb_tensor *whole = rt_new(c->rt, c->setting->dtype, RT_SHAPE(g->fc, g->fsdp, g->dr));
    rt_all_gather(c->rt, fsdp, stack, shard);
    rt_permute(c->rt, whole, stack, order);
    return rt_view(c->rt, whole, RT_SHAPE(g->fc, g->d));
}

static void reference(const struct problem_call *c)
{
    struct grid g = grid_of(c->setting);
    int rank = c->world->rank;
    const struct rt_group *tp = kit_stride_group(c, rank - rank % g.tp, 1, g.tp);
    const struct rt_group *fsdp = kit_stride_group(c, rank % g.tp, g.tp, g.fsdp);
    pkb_tensor *a1 = gather_rows(c, &g, fsdp, &c->in[W1S]), *a2 = gather_rows(c, &g, fsdp, &c->in[W2S]);
    pkb_tensor *a3 = gather_columns(c, &g, fsdp, &c->in[W3S]);

    pkb_tensor *x1 = matrix(c, g.b, g.fc), *x2 = matrix(c, g.b, g.fc), *yp = matrix(c, g.b, g.d);
    rt_matmul(c->rt, x1, &c->in[X], false, a1, false);
    rt_matmul(c->rt, x2, &c->in[X], false, a2, false);
    rt_unary(c->rt, RT_SILU, x1, x1);
    rt_binary(c->rt, RT_MUL, x1, x1, x2);
    rt_matmul(c->rt, yp, x1, false, a3, false);
    rt_all_reduce(c->rt, tp, RT_SUM, &c->out[0], yp);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    struct grid g = grid_of(s);
    double longest = (double)(g.d > g.f ? g.d : g.f);
    double rounding = 1.5 + sqrt(g.tp) / 2 + 6 / sqrt((double)g.d);
    double q = rounding * dtype_roundoff(s->dtype) + 4 * sqrt(longest) * kit_accumulate_roundoff(s);
    *check = (struct problem_check){.kind = CHECK_ROWS, .row = g.d, .row_rms = q, .row_max = 4 * q};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct grid g = grid_of(s);
    double b = (double)g.b, d = (double)g.d, fc = (double)g.fc, size = kit_element(s);
    double shards = 3 * (double)g.dr * fc, received = shards * (g.fsdp - 1);
    cost->flops = 6 * b * d * fc + 6 * b * fc;
    cost->hbm_bytes = size * (2 * b * d + shards) + 2 * size * received + 2 * size * b * fc;
    cost->link_bytes = size * received + 2 * size * b * d * (g.tp - 1) / g.tp;
}

const struct problem problem_48 = {
    .id = 48,
    .name = "48_fsdp_and_tp",
    .family = "fsdp_zero",
    .origin = "SwiGLU feed-forward block under two-dimensional FSDP and tensor parallelism, as in PyTorch and torchtitan",
    .summary = "Gather weights that are sharded over a grid of ranks along its FSDP axis, compute the own slice of a SwiGLU "
               "block, and sum "
               "the slices along the tensor-parallel axis.",
    .source = "problems/fsdp_zero/48_fsdp_and_tp.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
