/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/tensor_parallel/gemm.h"

#include <math.h>

/* `terms`: the largest number of products that are added into one element. */
static bool products_are_exact(const struct problem_setting *s, int64_t terms)
{
    return s->inputs == PROFILE_HARDENED && kit_is_narrow(s) && (double)terms <= kit_exact_limit(s);
}

static void fill_operands(const struct problem_setting *s, struct problem_inputs *set, int64_t terms)
{
    for (int i = 0; i < 2; i++) {
        if (products_are_exact(s, terms))
            kit_fill_integers(s, set, i, -1, 1);
        else
            kit_fill_normal(s, set, i);
    }
}

/* `ranks` is W in the limit of the norm. */
static void check_product(const struct problem_setting *s, int64_t terms, int ranks, struct problem_check *check)
{
    if (products_are_exact(s, terms)) {
        kit_check_exact(s, 0, check);
        return;
    }
    *check = (struct problem_check){.kind = CHECK_BOUND};
    check->frobenius =
        (1.5 + sqrt(ranks) / 2) * dtype_roundoff(s->dtype) + 4 * sqrt(problem_real(s, "K")) * kit_accumulate_roundoff(s);
}

void gemm_own_init(const struct problem_setting *s, struct problem_inputs *set)
{
    fill_operands(s, set, problem_int(s, "K"));
}

void gemm_own_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    check_product(s, problem_int(s, "K"), 1, check);
}

/* Products that are added over all ranks: each has as many as A_local has columns. */
static int64_t summed_terms(const struct problem_setting *s)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    s->problem->inputs(s, t);
    return s->world * t[0].form.shape[1];
}

void gemm_summed_init(const struct problem_setting *s, struct problem_inputs *set)
{
    fill_operands(s, set, summed_terms(s));
}

void gemm_summed_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    check_product(s, summed_terms(s), s->world, check);
}

pkb_tensor *gemm_partial(const struct problem_call *c)
{
    pkb_tensor *p = rt_new(c->rt, c->setting->dtype, RT_SHAPE(c->in[0].shape[0], c->in[1].shape[1]));
    rt_matmul(c->rt, p, &c->in[0], false, &c->in[1], false);
    return p;
}

pkb_tensor *gemm_magnitude(const struct problem_call *c, const pkb_tensor *a, bool trans_a, const pkb_tensor *b)
{
    if (rt_status(c->rt, NULL) < 0)
        return NULL;
    pkb_tensor *abs_a = rt_new_like(c->rt, a->dtype, a);
    pkb_tensor *abs_b = rt_new_like(c->rt, b->dtype, b);
    pkb_tensor *product = rt_new(c->rt, PKB_F32, RT_SHAPE(a->shape[trans_a ? 1 : 0], b->shape[1]));
    rt_unary(c->rt, RT_ABS, abs_a, a);
    rt_unary(c->rt, RT_ABS, abs_b, b);
    rt_matmul(c->rt, product, abs_a, trans_a, abs_b, false);
    return product;
}

void gemm_product_bound(const struct problem_call *c, pkb_tensor *tol, const pkb_tensor *product, pkb_tensor *magnitude,
                        double terms)
{
    const struct problem_setting *s = c->setting;
    rt_binary_scalar(c->rt, RT_MUL, magnitude, magnitude, 2 * terms * kit_accumulate_roundoff(s));
    rt_unary(c->rt, RT_ABS, tol, product);
    rt_binary_scalar(c->rt, RT_MUL, tol, tol, 2 * dtype_roundoff(s->dtype));
    rt_binary(c->rt, RT_ADD, tol, tol, magnitude);
}

pkb_tensor *gemm_bound_term(const struct problem_call *c)
{
    const struct problem_setting *s = c->setting;
    pkb_tensor *rounding = gemm_partial(c);
    pkb_tensor *order = gemm_magnitude(c, &c->in[0], false, &c->in[1]);
    pkb_tensor *term = rt_new_like(c->rt, PKB_F32, rounding);
    rt_unary(c->rt, RT_ABS, term, rounding);
    rt_binary_scalar(c->rt, RT_MUL, term, term, (s->world + 2) * dtype_roundoff(s->dtype));
    rt_binary_scalar(c->rt, RT_MUL, order, order, 2 * problem_real(s, "K") * kit_accumulate_roundoff(s));
    rt_binary(c->rt, RT_ADD, term, term, order);
    return term;
}
