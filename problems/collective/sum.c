/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/collective/sum.h"

#include <math.h>

/* Smaller ranges have too few values to tell elements apart: 16 ranks in bf16. */
#define LEAST_RANGE 16

/* Larger integers find no more mistakes. */
#define LARGEST_RANGE 1048576

/* The largest R such that W integers from [-R, R] sum exactly in T. */
static int64_t integer_range(const struct problem_setting *s)
{
    double range = floor(kit_exact_limit(s) / s->world);
    return range < LARGEST_RANGE ? (int64_t)range : LARGEST_RANGE;
}

static bool sums_are_exact(const struct problem_setting *s)
{
    if (s->inputs == PROFILE_PKB)
        return s->world * (s->world + 1.0) / 2 <= kit_exact_limit(s);
    return integer_range(s) >= LEAST_RANGE;
}

void sum_init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t range = integer_range(s);
    if (s->inputs == PROFILE_HARDENED && sums_are_exact(s))
        kit_fill_integers(s, set, 0, -range, range);
    else
        matrix_init(s, set);
}

void sum_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    if (sums_are_exact(s))
        kit_check_exact(s, output, check);
    else
        sum_check_bounds(s, output, check);
}

void sum_check_bounds(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)output;
    *check = (struct problem_check){.kind = CHECK_BOUND};
    check->frobenius = (1 + sqrt(s->world) / 2) * dtype_roundoff(s->dtype);
}

pkb_tensor *sum_bound_term(const struct problem_call *c, const pkb_tensor *x)
{
    const struct problem_setting *s = c->setting;
    pkb_tensor *term = rt_new_like(c->rt, PKB_F32, x);
    rt_unary(c->rt, RT_ABS, term, x);
    rt_binary_scalar(c->rt, RT_MUL, term, term, (s->world + 1) * dtype_roundoff(s->dtype));
    return term;
}
