/* SPDX-License-Identifier: Apache-2.0 */
/* 15 combined_sharded_gemms: gather x, which is sharded by columns; product, SiLU, product with the rank's own full weights; row
 * block r of the result on rank r.
 *
 * Parameters   M: rows (tokens), rounded up to a multiple of W; M_local = M / W. H: hidden size, rounded up likewise;
 *              H_local = H / W. F: inner size.
 * Inputs       x_local (M, H_local) of T, columns r*H_local to (r+1)*H_local - 1 of x; W1 (H, F), W2 (F, H) of T. All differ on
 *              every rank: the weights are not shared.
 * Output       y (M_local, H) of T, different on every rank:
 *                  x = x_0, x_1, ... side by side,  h = x * W1,  a = silu(h) = h / (1 + exp(-h)), each rounded to T,
 *                  y[i, j] = sum over f of a[r*M_local + i, f] * W2[f, j], rounded to T.
 *              The reference puts its rows into an (M, H) matrix of zeros and sums the matrices of all ranks by a reduce-scatter,
 *              which adds zeros only; nor are the other rows of h needed. A result may leave all of this out.
 * One rank     y = silu(x * W1) * W2.
 * Arithmetic   f32 accumulation (f64 for T = f64; true f32 for T = f32); SiLU in f32 (f64). A result may keep h and a in f32.
 * Check        Rounding h and a moves y by about 0.65 * u of its typical size, whatever the element, and both results are rounded
 *              to T at the end. So, with u the unit roundoff of T, e that of the accumulation, and rms the root mean square of
 *              the reference's whole result yc:
 *                  |y - yc| <= 8 * (u + sqrt(H + F) * e) * rms + 2 * u * |yc|,
 *                  ||y - yc|| <= (2 * u + 4 * sqrt(H + F) * e) * ||yc||.
 *              (Without the last term of the first line, elements of five times the rms fail for their last rounding alone.)
 */
#include <math.h>

#include "problems/axes.h"

static const struct problem_param params[] = {
    {"M", 1024, 24, true, "rows, rounded up to a multiple of the ranks"},
    {"H", 256, 32, true, "hidden size, rounded up to a multiple of the ranks"},
    {"F", 512, 40, true, "inner size"},
};

enum { X_LOCAL, W1, W2 };

struct sizes {
    int64_t m, h, f, m_local, h_local;
};

static struct sizes sizes_of(const struct problem_setting *s)
{
    struct sizes z = {.f = problem_int(s, "F")};
    z.m_local = kit_divide_up(problem_int(s, "M"), s->world);
    z.h_local = kit_divide_up(problem_int(s, "H"), s->world);
    z.m = z.m_local * s->world;
    z.h = z.h_local * s->world;
    return z;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "H", 1, err) < 0)
        return -1;
    return kit_require_least(s, "F", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct sizes z = sizes_of(s);
    kit_tensor(&t[X_LOCAL], "x_local", s->dtype, RT_SHAPE(z.m, z.h_local));
    kit_tensor(&t[W1], "W1", s->dtype, RT_SHAPE(z.h, z.f));
    kit_tensor(&t[W2], "W2", s->dtype, RT_SHAPE(z.f, z.h));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct sizes z = sizes_of(s);
    kit_tensor(&t[0], "y", s->dtype, RT_SHAPE(z.m_local, z.h));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    for (int i = X_LOCAL; i <= W2; i++)
        kit_fill_normal(s, set, i);
}

/* silu(x * W1), all rows. */
static pkb_tensor *activations(const struct problem_call *c, const struct sizes *z)
{
    int dtype = c->setting->dtype;
    pkb_tensor *x = rt_new(c->rt, dtype, RT_SHAPE(z->m, z->h));
    pkb_tensor *a = rt_new(c->rt, dtype, RT_SHAPE(z->m, z->f));
    axes_all_gather(c->rt, c->world, x, &c->in[X_LOCAL], 1);
    rt_matmul(c->rt, a, x, false, &c->in[W1], false);
    rt_unary(c->rt, RT_SILU, a, a);
    return a;
}

static void reference(const struct problem_call *c)
{
    struct sizes z = sizes_of(c->setting);
    int64_t first = c->world->rank * z.m_local;
    pkb_tensor *whole = rt_new(c->rt, c->setting->dtype, RT_SHAPE(z.m, z.h));
    pkb_tensor *a = activations(c, &z);
    rt_fill(c->rt, whole, 0);
    rt_matmul(c->rt, rt_rows(c->rt, whole, first, z.m_local), rt_rows(c->rt, a, first, z.m_local), false, &c->in[W2], false);
    rt_reduce_scatter(c->rt, c->world, RT_SUM, &c->out[0], whole);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    struct sizes z = sizes_of(s);
    double roundoff = dtype_roundoff(s->dtype), order = sqrt((double)(z.h + z.f)) * kit_accumulate_roundoff(s);
    *check = (struct problem_check){
        .kind = CHECK_ROWS,
        .rtol = 2 * roundoff,
        .row_max = 8 * (roundoff + order),
        .row_rms = 2 * roundoff + 4 * order,
    };
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct sizes z = sizes_of(s);
    double m = (double)z.m, h = (double)z.h, f = (double)z.f, size = kit_element(s), others = s->world - 1.0;
    double m_local = (double)z.m_local, h_local = (double)z.h_local;
    cost->flops = 4 * m_local * h * f + 5 * m_local * f;
    cost->hbm_bytes = size * (m * h_local + 2 * h * f + m_local * h) + 2 * size * others * m_local * h_local;
    cost->link_bytes = others * m_local * h_local * size;
}

const struct problem problem_15 = {
    .id = 15,
    .name = "15_combined_sharded_gemms",
    .family = "tensor_parallel",
    .origin =
        "two-layer perceptron of Megatron-LM with sequence parallelism: all-gather, product, activation, product, reduce-scatter",
    .summary =
        "Gather the activations, sharded by columns, apply product, SiLU and product with full local weights, and leave row "
        "block r of the result on rank r.",
    .source = "problems/tensor_parallel/15_combined_sharded_gemms.c",
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
