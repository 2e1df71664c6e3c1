/* SPDX-License-Identifier: Apache-2.0 */
/* 86 tp_muon_orthogonalization: a matrix whose columns are spread over the ranks becomes nearly orthogonal by
 * Newton-Schulz steps.
 *
 * Parameters   R: rows. Cg: columns over all ranks, rounded up to a multiple of W; Cl = Cg / W. steps: a multiple of the number
 *              of triples of the coefficient set. type: the set, 0 simple, 1 quintic, 2 polar express, 3 AOL (the tables
 *              below). pdim: 1: x is (R, Cl), its columns r*Cl and on of the matrix; 0: x is the transpose of that, (Cl, R).
 *              eps: least norm.
 * Input        x of T, different on every rank.
 * Output       y of T like x, different on every rank. With X = x, or its transpose, in f32:
 *                  X = X / max(sqrt( sum over the ranks, over all elements, of X^2 ), eps)
 *                  in every step with (a, b, c), the triples in turn:
 *                      G = sum over the ranks of X X^T,   U = b * G + c * G G,   X = a * X + U X
 *                  y = X, transposed back, rounded to T.
 * One rank     nothing is communicated.
 * Arithmetic   f32 for every T, products too; one rounding at the end.
 * Check        over y as a whole ||y' - y|| <= 5e-3 * ||y||, and every element within 3e-2 * rms(y): TF32 products pass (1e-3),
 *              those of bf16 operands do not (8e-3), and rounding y to bf16 takes 1.7e-3.
 * Inputs       N(0,1) + 0.01 * r, times 1, 1/1024 or 1024 in turn of the trials, which must not change the result; one that is
 *              normalised by each rank's own norm comes out wrong. The pkb profile does not scale.
 * Dtype        As published, x is bf16 whatever T is; here it is of T, which at bf16 is the same.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"R", 512, 16, true, "rows of the matrix"},
    {"Cg", 512, 32, true, "columns over all ranks, rounded up to a multiple of W"},
    {"steps", 5, 5, true, "Newton-Schulz steps"},
    {"type", 1, 1, true, "coefficients: 0 simple, 1 quintic, 2 polar express, 3 AOL"},
    {"pdim", 1, 1, true, "dimension of x that is split over the ranks"},
    {"eps", 1e-7, 1e-7, false, "least norm"},
};

struct triple {
    double a, b, c;
};

static const struct triple simple[] = {{3.4445, -4.7750, 2.0315}};
static const struct triple quintic[] = {
    {4.0848, -6.8946, 2.9270}, {3.9505, -6.3029, 2.6377}, {3.7418, -5.5913, 2.3037},
    {2.8769, -3.1427, 1.2046}, {2.8366, -3.0525, 1.2012},
};
static const struct triple polar_express[] = {
    {8.2051, -22.9019, 16.4607}, {4.0664, -2.8612, 0.5184}, {3.9096, -2.8234, 0.5250}, {3.2856, -2.4647, 0.5074},
    {2.2779, -1.6447, 0.4162},   {1.8726, -1.2307, 0.3585}, {1.8564, -1.2132, 0.3568}, {1.8750, -1.2500, 0.3750},
};
static const struct triple aol[] = {
    {4.0098, -7.0585, 2.4635}, {3.4585, -5.5479, 2.5959}, {2.7573, -3.2939, 1.4254}, {2.7215, -3.0494, 1.3169}};

static const struct {
    const struct triple *triples;
    int count;
} sets[] = {
    {simple, KIT_COUNT(simple)},
    {quintic, KIT_COUNT(quintic)},
    {polar_express, KIT_COUNT(polar_express)},
    {aol, KIT_COUNT(aol)},
};

static int64_t own_columns(const struct problem_setting *s)
{
    int64_t columns = problem_int(s, "Cg");
    return columns / s->world + (columns % s->world != 0);
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t type = problem_int(s, "type"), steps = problem_int(s, "steps");
    if (type >= KIT_COUNT(sets))
        return pkb_error_set(err, "type = %lld is none of the %d coefficient sets", (long long)type, KIT_COUNT(sets));
    if (steps < 1 || steps % sets[type].count != 0)
        return pkb_error_set(err, "steps = %lld is not a multiple of the set's %d triples", (long long)steps, sets[type].count);
    if (problem_int(s, "pdim") > 1)
        return pkb_error_set(err, "pdim = %.0f is neither 0 nor 1", problem_real(s, "pdim"));
    return 0;
}

static int describe(const struct problem_setting *s, struct problem_tensor *t, const char *name)
{
    int64_t rows = problem_int(s, "R"), columns = own_columns(s);
    if (problem_int(s, "pdim") == 1)
        kit_tensor(t, name, s->dtype, RT_SHAPE(rows, columns));
    else
        kit_tensor(t, name, s->dtype, RT_SHAPE(columns, rows));
    return 1;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe(s, t, "x");
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe(s, t, "y");
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct shifted {
    struct rng rng;
    double mean, scale;
};

static double shifted_value(const void *arg, size_t i)
{
    const struct shifted *v = arg;
    return v->scale * (rng_normal(&v->rng, i) + v->mean);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    static const double scales[] = {1, 1.0 / 1024, 1024};
    struct shifted v = {.rng = problem_rng(s, set, 0), .mean = 0.01 * s->rank, .scale = 1};
    if (s->inputs == PROFILE_HARDENED)
        v.scale = scales[set->trial % 3];
    kit_fill_with(&set->in[0], shifted_value, &v);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* x (R, Cl) in f32. */
static pkb_tensor *own_part(const struct problem_call *c)
{
    static const int transpose[] = {1, 0};
    pkb_tensor *wide = rt_new_like(c->rt, PKB_F32, &c->in[0]);
    rt_copy(c->rt, wide, &c->in[0]);
    if (problem_call_int(c, "pdim") == 1)
        return wide;
    pkb_tensor *x = rt_new(c->rt, PKB_F32, RT_SHAPE(c->in[0].shape[1], c->in[0].shape[0]));
    rt_permute(c->rt, x, wide, transpose);
    return x;
}

static void store(const struct problem_call *c, const pkb_tensor *x)
{
    static const int transpose[] = {1, 0};
    const pkb_tensor *wide = x;
    if (problem_call_int(c, "pdim") == 0) {
        pkb_tensor *back = rt_new_like(c->rt, PKB_F32, &c->out[0]);
        rt_permute(c->rt, back, x, transpose);
        wide = back;
    }
    rt_copy(c->rt, &c->out[0], wide);
}

/* Divides by the norm of the whole matrix. */
static void normalise(const struct problem_call *c, pkb_tensor *x)
{
    pkb_tensor *squares = rt_new_like(c->rt, PKB_F32, x), *norm = rt_new(c->rt, PKB_F32, RT_SCALAR);
    rt_unary(c->rt, RT_SQUARE, squares, x);
    rt_reduce_axis(c->rt, RT_SUM, norm, squares, RT_ALL_AXES);
    rt_all_reduce(c->rt, c->world, RT_SUM, norm, norm);
    rt_unary(c->rt, RT_SQRT, norm, norm);
    rt_binary_scalar(c->rt, RT_MAX, norm, norm, problem_call_real(c, "eps"));
    rt_binary(c->rt, RT_DIV, x, x, norm);
}

/* dst = a * u + b * v */
static void combine(const struct problem_call *c, pkb_tensor *dst, double a, const pkb_tensor *u, double b, const pkb_tensor *v)
{
    pkb_tensor *first = rt_new_like(c->rt, PKB_F32, dst), *second = rt_new_like(c->rt, PKB_F32, dst);
    rt_binary_scalar(c->rt, RT_MUL, first, u, a);
    rt_binary_scalar(c->rt, RT_MUL, second, v, b);
    rt_binary(c->rt, RT_ADD, dst, first, second);
}

static void newton_schulz_step(const struct problem_call *c, const struct triple *t, pkb_tensor *x)
{
    int64_t rows = problem_call_int(c, "R");
    pkb_tensor *gram = rt_new(c->rt, PKB_F32, RT_SHAPE(rows, rows)), *squared = rt_new(c->rt, PKB_F32, RT_SHAPE(rows, rows));
    pkb_tensor *turned = rt_new_like(c->rt, PKB_F32, x);
    rt_matmul(c->rt, gram, x, false, x, true);
    rt_all_reduce(c->rt, c->world, RT_SUM, gram, gram);
    rt_matmul(c->rt, squared, gram, false, gram, false);
    combine(c, gram, t->b, gram, t->c, squared);
    rt_matmul(c->rt, turned, gram, false, x, false);
    combine(c, x, t->a, x, 1, turned);
}

static void reference(const struct problem_call *c)
{
    int64_t type = problem_call_int(c, "type"), steps = problem_call_int(c, "steps");
    pkb_tensor *x = own_part(c);
    normalise(c, x);
    for (int64_t i = 0; i < steps; i++)
        newton_schulz_step(c, &sets[type].triples[i % sets[type].count], x);
    store(c, x);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_ROWS, .row_rms = 5e-3, .row_max = 3e-2};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double r = problem_real(s, "R"), columns = (double)own_columns(s), steps = problem_real(s, "steps");
    double others = (s->world - 1.0) / s->world;
    cost->flops = steps * (4 * r * r * columns + 2 * r * r * r) + 3 * r * columns;
    cost->hbm_bytes = 2 * kit_element(s) * r * columns;
    cost->link_bytes = steps * 2 * 4 * r * r * others + 2 * 4 * others;
}

const struct problem problem_86 = {
    .id = 86,
    .name = "86_tp_muon_orthogonalization",
    .family = "optimizer",
    .origin = "Muon with tensor-parallel Newton-Schulz iteration, as in Megatron-LM and NVIDIA Emerging-Optimizers",
    .summary = "Orthogonalise a matrix whose columns are split over all ranks by Newton-Schulz steps; its norm and every Gram "
               "matrix are "
               "all-reduced in f32.",
    .source = "problems/optimizer/86_tp_muon_orthogonalization.c",
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
