/* SPDX-License-Identifier: Apache-2.0 */
/* 09 layernorm_backward: gradients of weight and bias of a layer normalisation whose rows are spread over the ranks.
 *
 * Parameters   B: rows of one rank. H: hidden size, columns.
 * Inputs       X_hat (B, H), the normalised rows; dY (B, H), the incoming gradient; both of T, different on every rank.
 * Outputs      d_gamma (H), then d_beta (H), of T, the same on every rank. With rnd() the rounding to T:
 *                  b_q[j] = rnd( sum over i of dY[i, j] )
 *                  g_q[j] = rnd( sum over i of rnd( dY[i, j] * X_hat[i, j] ) )
 *                  d_beta[j] = sum over the ranks q of b_q[j],   d_gamma[j] = sum over the ranks q of g_q[j].
 * One rank     the column sums b_0, g_0.
 * Arithmetic   column sums accumulate in f32 (f64 for T = f64); the ranks' sums are added in T. A result may round after every
 *              addition over the ranks, once, or not before the end.
 * Check        for bf16 and f16 exact, on the inputs below; else
 *                  |d - dc| <= (W + 2) * u * sum_q |b_q| + 4 * sqrt(B) * e * sum_q sum_i |term_i|      element by element,
 *                  ||d - dc|| <= ((2 + sqrt(W)/2) * u + 4 * sqrt(B) * e) * ||dc||                       as a whole,
 *              with dc the reference's result (g_q for d_gamma), u the unit roundoff of T, e that of the accumulation. On
 *              N(0,1) in bf16 the two orders of rounding differ by more than 1 % in a tenth of the elements.
 * Inputs       bf16, f16: X_hat is -1 or 1; dY is -1 or 1 once in every stretch of rows of a column and 0 elsewhere, so few
 *              times that all sums fit T: a lost or repeated row shows as an error of one, and every correct result has the
 *              same bits. Other T, more ranks than T has integers, and the pkb profile: dY is N(0,1), X_hat N(0,1) with rows
 *              divided by their norm + 1e-5, in T.
 */
#include <math.h>

#include "problems/kit.h"

static const struct problem_param params[] = {
    {"B", 1024, 48, true, "rows per rank"},
    {"H", 1024, 72, true, "hidden size"},
};

enum { X_HAT, DY };
enum { D_GAMMA, D_BETA };

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "B", 1, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t rows = problem_int(s, "B"), columns = problem_int(s, "H");
    kit_tensor(&t[X_HAT], "X_hat", s->dtype, RT_SHAPE(rows, columns));
    kit_tensor(&t[DY], "dY", s->dtype, RT_SHAPE(rows, columns));
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[D_GAMMA], "d_gamma", s->dtype, RT_SHAPE(problem_int(s, "H")));
    kit_tensor(&t[D_BETA], "d_beta", s->dtype, RT_SHAPE(problem_int(s, "H")));
    return 2;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* Entries of a column of dY that may differ from 0 on one rank for all sums to be integers that T holds; 0: not the exact
 * inputs. */
static int64_t terms_per_column(const struct problem_setting *s)
{
    if (s->inputs == PROFILE_PKB || !kit_is_narrow(s))
        return 0;
    return (int64_t)kit_exact_limit(s) / s->world;
}

struct signs {
    struct rng rng;
    int64_t columns, stretch; /* rows that have one entry in every column */
};

static double sign_value(const void *arg, size_t i)
{
    const struct signs *signs = arg;
    return rng_integer(&signs->rng, i, 0, 2) ? 1 : -1;
}

/* Row `row` of a column is its stretch's entry if the number drawn for stretch and column says so. */
static double sparse_value(const void *arg, size_t i)
{
    const struct signs *signs = arg;
    int64_t row = (int64_t)i / signs->columns, column = (int64_t)i % signs->columns;
    int64_t first = row - row % signs->stretch;
    struct rng place = signs->rng;
    place.tensor += KIT_STREAM;
    if (row - first != rng_integer(&place, (uint64_t)(first * signs->columns + column), 0, signs->stretch))
        return 0;
    return sign_value(arg, i);
}

static void init_exact(const struct problem_setting *s, struct problem_inputs *set, int64_t terms)
{
    struct signs x = {.rng = problem_rng(s, set, X_HAT)};
    struct signs dy = {
        .rng = problem_rng(s, set, DY),
        .columns = problem_int(s, "H"),
        .stretch = (problem_int(s, "B") + terms - 1) / terms,
    };
    kit_fill_with(&set->in[X_HAT], sign_value, &x);
    kit_fill_with(&set->in[DY], sparse_value, &dy);
}

/* Rows of N(0,1) in T that are divided by their norms, in T. */
struct unit_rows {
    struct rng rng;
    int dtype;
    size_t columns;
    double norm; /* of the row before the next element's; elements come in order */
};

static double unit_row_value(const void *arg, size_t i)
{
    struct unit_rows *u = *(struct unit_rows *const *)arg;
    if (i % u->columns == 0) {
        double sum = 0;
        for (size_t j = 0; j < u->columns; j++) {
            double z = kit_rounded(u->dtype, rng_normal(&u->rng, i + j));
            sum += z * z;
        }
        u->norm = kit_rounded(u->dtype, kit_rounded(u->dtype, sqrt(sum)) + 1e-5);
    }
    return kit_rounded(u->dtype, rng_normal(&u->rng, i)) / u->norm;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t terms = terms_per_column(s);
    struct unit_rows u = {.rng = problem_rng(s, set, X_HAT), .dtype = s->dtype, .columns = (size_t)problem_int(s, "H")};
    struct unit_rows *arg = &u;
    if (terms > 0) {
        init_exact(s, set, terms);
        return;
    }
    kit_fill_with(&set->in[X_HAT], unit_row_value, &arg);
    kit_fill_normal(s, set, DY);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static pkb_tensor *products(const struct problem_call *c)
{
    pkb_tensor *p = rt_new_like(c->rt, c->setting->dtype, &c->in[DY]);
    rt_binary(c->rt, RT_MUL, p, &c->in[DY], &c->in[X_HAT]);
    return p;
}

static pkb_tensor *column_sums(const struct problem_call *c, const pkb_tensor *terms)
{
    pkb_tensor *sums = rt_new(c->rt, c->setting->dtype, RT_SHAPE(c->in[DY].shape[1]));
    rt_reduce_axis(c->rt, RT_SUM, sums, terms, 0);
    return sums;
}

static void reference(const struct problem_call *c)
{
    rt_all_reduce(c->rt, c->world, RT_SUM, &c->out[D_BETA], column_sums(c, &c->in[DY]));
    rt_all_reduce(c->rt, c->world, RT_SUM, &c->out[D_GAMMA], column_sums(c, products(c)));
}

static void bound_sums(const struct problem_call *c, const pkb_tensor *terms, pkb_tensor *tol)
{
    const struct problem_setting *s = c->setting;
    double of_order = 4 * sqrt((double)c->in[DY].shape[0]) * kit_accumulate_roundoff(s);
    pkb_tensor *order = rt_new_like(c->rt, PKB_F32, tol);
    pkb_tensor *rounding = kit_magnitude(c, column_sums(c, terms), (s->world + 2) * dtype_roundoff(s->dtype));
    rt_reduce_axis(c->rt, RT_SUM, order, kit_magnitude(c, terms, of_order), 0);
    rt_binary(c->rt, RT_ADD, rounding, rounding, order);
    rt_all_reduce(c->rt, c->world, RT_SUM, tol, rounding);
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    bound_sums(c, products(c), tol[D_GAMMA]);
    bound_sums(c, &c->in[DY], tol[D_BETA]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    if (terms_per_column(s) > 0) {
        kit_check_exact(s, output, check);
        return;
    }
    *check = (struct problem_check){.kind = CHECK_BOUND};
    check->frobenius =
        (2 + sqrt(s->world) / 2) * dtype_roundoff(s->dtype) + 4 * sqrt(problem_real(s, "B")) * kit_accumulate_roundoff(s);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double rows = problem_real(s, "B"), columns = problem_real(s, "H"), size = kit_element(s);
    double others = (s->world - 1.0) / s->world;
    cost->flops = 3 * rows * columns + 2 * columns * others;
    cost->hbm_bytes = 2 * rows * columns * size + 2 * columns * size;
    cost->link_bytes = 2 * others * 2 * columns * size;
}

const struct problem problem_09 = {
    .id = 9,
    .name = "09_layernorm_backward",
    .family = "data_parallel",
    .origin = "weight and bias gradients of LayerNorm, summed over data-parallel or Megatron-LM sequence-parallel ranks",
    .summary =
        "Sum dY and dY * X_hat over the local rows and over all ranks: the gradients of a layer normalisation's weight and bias.",
    .source = "problems/data_parallel/09_layernorm_backward.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .check = check,
    .cost = cost,
};
