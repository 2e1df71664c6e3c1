/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/fsdp_zero/fp8.h"

#include <math.h>

#define LARGEST_E4M3 448.0
#define LEAST_AMAX 1e-12

/* Relative width of the stretch around the middle between two numbers. */
#define TIE_WIDTH 1e-5

/* What inputs keep clear of, and draws of an element at most. */
#define CLEAR_WIDTH (4 * TIE_WIDTH)
#define MOST_DRAWS 64

enum { X, HISTORY };

int fp8_supports(const struct problem_setting *s, struct pkb_error *err)
{
    return kit_require_least(s, "hl", 1, err);
}

int fp8_describe(const struct problem_setting *s, struct problem_tensor *t, const char *name, int64_t elements,
                 const char *history)
{
    kit_tensor(&t[0], name, s->dtype, RT_SHAPE(elements));
    kit_tensor(&t[1], history, PKB_BF16, RT_SHAPE(problem_int(s, "hl")));
    return 2;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

struct recipe {
    struct rng rng;
    size_t n;          /* elements */
    int exponent;      /* of the rank's and the trial's factor */
    bool oldest_first; /* the oldest entry of the history is the largest */
};

/* Element i in its draw number `draw`. */
static double vector_draw(const struct recipe *r, size_t i, uint64_t draw)
{
    return ldexp(rng_normal(&r->rng, draw * r->n + i), r->exponent - (int)(i % 12));
}

static double vector_value(const void *arg, size_t i)
{
    return vector_draw(arg, i, 0);
}

static double history_value(const void *arg, size_t i)
{
    const struct recipe *r = arg;
    return 8 * rng_uniform(&r->rng, i) + (r->oldest_first && i == 0 ? 8 : 0);
}

/* As it is stored. */
static double element(const pkb_tensor *t, size_t i)
{
    double value;
    dtype_to_f64(t->dtype, &value, (const char *)t->data + i * dtype_size(t->dtype), 1);
    return value;
}

static double largest_of(const pkb_tensor *t, size_t first)
{
    double largest = 0;
    for (size_t i = first; i < kit_numel(t); i++)
        largest = fmax(largest, fabs(element(t, i)));
    return largest;
}

static bool is_near_tie(double quotient)
{
    double low = quotient * (1 - CLEAR_WIDTH), high = quotient * (1 + CLEAR_WIDTH);
    return kit_rounded(PKB_FP8_E4M3, low) != kit_rounded(PKB_FP8_E4M3, high);
}

/* Draws anew what lies near a tie. The scale stays: nothing becomes larger than the largest element, which is near no tie where
 * the scale comes from it, as it is 448 times the scale. */
static void clear_ties(struct problem_inputs *set, const struct recipe *r)
{
    pkb_tensor *x = &set->in[X];
    double largest = largest_of(x, 0), newest = kit_rounded(PKB_BF16, (double)(float)largest);
    float scale = (float)fmax(largest_of(&set->in[HISTORY], 1), newest) / (float)LARGEST_E4M3;
    for (size_t i = 0; i < r->n; i++) {
        double value = element(x, i);
        for (uint64_t draw = 1; draw < MOST_DRAWS && (fabs(value) > largest || is_near_tie((double)((float)value / scale)));
             draw++)
            value = kit_rounded(x->dtype, vector_draw(r, i, draw));
        dtype_from_f64(x->dtype, (char *)x->data + i * dtype_size(x->dtype), &value, 1);
    }
}

void fp8_init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct recipe vector = {.rng = problem_rng(s, set, X), .exponent = (int)(((uint32_t)s->rank + set->trial) % 3)};
    struct recipe history = {.rng = problem_rng(s, set, HISTORY), .oldest_first = set->trial % 2 == 1};
    if (s->inputs == PROFILE_PKB) {
        kit_fill_normal(s, set, X);
        kit_fill_constant(&set->in[HISTORY], 1e-8);
        return;
    }
    vector.n = kit_numel(&set->in[X]);
    kit_fill_with(&set->in[X], vector_value, &vector);
    kit_fill_with(&set->in[HISTORY], history_value, &history);
    clear_ties(set, &vector);
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

void fp8_roll(const struct problem_call *c, pkb_tensor *rolled, const pkb_tensor *history, const pkb_tensor *x)
{
    int64_t kept = c->in[HISTORY].shape[0] - 1;
    pkb_tensor *magnitudes = kit_magnitude(c, x, 1), *amax = rt_new(c->rt, PKB_F32, RT_SCALAR);
    rt_reduce_axis(c->rt, RT_AMAX, amax, magnitudes, RT_ALL_AXES);
    rt_copy(c->rt, rt_rows(c->rt, rolled, 0, kept), rt_rows(c->rt, history, 1, kept));
    rt_copy(c->rt, rt_entry(c->rt, rolled, kept), amax);
}

struct fp8 fp8_scale(const struct problem_call *c, const pkb_tensor *rolled, const pkb_tensor *x)
{
    struct fp8 f = {rt_new_like(c->rt, PKB_F32, x), rt_new(c->rt, PKB_F32, RT_SCALAR)};
    rt_reduce_axis(c->rt, RT_AMAX, f.scale, rolled, RT_ALL_AXES);
    rt_binary_scalar(c->rt, RT_MAX, f.scale, f.scale, LEAST_AMAX);
    rt_binary_scalar(c->rt, RT_DIV, f.scale, f.scale, LARGEST_E4M3);
    rt_copy(c->rt, f.quotient, x);
    rt_binary(c->rt, RT_DIV, f.quotient, f.quotient, f.scale);
    return f;
}

/* A tensor of f32 in e4m3 and back. */
static pkb_tensor *through_e4m3(const struct problem_call *c, const pkb_tensor *x)
{
    pkb_tensor *q = rt_new_like(c->rt, PKB_FP8_E4M3, x), *wide = rt_new_like(c->rt, PKB_F32, x);
    rt_copy(c->rt, q, x);
    rt_copy(c->rt, wide, q);
    return wide;
}

pkb_tensor *fp8_round_trip(const struct problem_call *c, const struct fp8 *f)
{
    pkb_tensor *product = through_e4m3(c, f->quotient), *rec = rt_new_like(c->rt, c->setting->dtype, f->quotient);
    rt_binary(c->rt, RT_MUL, product, product, f->scale);
    rt_copy(c->rt, rec, product);
    return rec;
}

/* ---- bounds -------------------------------------------------------------------------------------------------------- */

pkb_tensor *fp8_ties(const struct problem_call *c, const struct fp8 *f)
{
    pkb_tensor *above = rt_new_like(c->rt, PKB_F32, f->quotient), *below = rt_new_like(c->rt, PKB_F32, f->quotient);
    rt_binary_scalar(c->rt, RT_MUL, above, f->quotient, 1 + TIE_WIDTH);
    rt_binary_scalar(c->rt, RT_MUL, below, f->quotient, 1 - TIE_WIDTH);
    pkb_tensor *step = through_e4m3(c, above);
    rt_binary(c->rt, RT_SUB, step, step, through_e4m3(c, below));
    rt_binary(c->rt, RT_MUL, step, step, f->scale);
    rt_unary(c->rt, RT_ABS, step, step);
    return step;
}
