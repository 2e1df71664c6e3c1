/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of problems that the tiny shape does not take: other strides, filters that are off, and the like. On several ranks, the reference
 * in f64 passes the check against the reference in T, and zeros do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/kit.h"
#include "tests/support/evaluate_or_fail.h"

#define TRIALS 2
#define MAX_CHANGES 4

struct change {
    const char *name;
    double value;
};

struct mode {
    int id, dtype, world;
    struct change changes[MAX_CHANGES]; /* of parameters; the first without a name ends them */
};

static const struct mode modes[] = {
    {39, PKB_BF16, 2, {{"variant", 1}}},
    {39, PKB_F32, 4, {{"variant", 1}, {"causal", 1}}},
    {39, PKB_BF16, 4, {{"causal", 1}}},
    {76, PKB_F32, 2, {{"stride", 2}, {"padding", 1}}},
    {76, PKB_BF16, 3, {{"k", 2}, {"dilation", 2}}},
    {78, PKB_BF16, 3, {{"us", 3}, {"ut", 3}, {"Cz", 2}, {"B", 2}}},
    {78, PKB_BF16, 2, {{"ot", 0}, {"ffi", 1}, {"sr", 2}}},
    {82, PKB_BF16, 2, {{"top_k", 0}}},
    {82, PKB_F16, 4, {{"top_k", 0}, {"V", 256}}},
    {82, PKB_F32, 2, {{"top_p", 1}}},
    {82, PKB_BF16, 2, {{"top_p", 1}, {"top_k", 1000}}},
    {82, PKB_BF16, 4, {{"top_k", 0}, {"top_p", 1}}},
    {82, PKB_BF16, 4, {{"top_k", 0}, {"top_p", 0.5}, {"S", 41}}},
    {83, PKB_BF16, 2, {{"chunk_size", 0}}},
    {83, PKB_F32, 2, {{"chunk_size", 1}, {"top_k", 0}}},
    {84, PKB_BF16, 4, {{"chunk_size", 100}, {"top_k", 0}}},
    {84, PKB_F32, 2, {{"top_p", 1}}},
    {84, PKB_BF16, 4, {{"top_k", 0}, {"top_p", 1}}},
    {87, PKB_BF16, 3, {{"padding", 0}}},
    {87, PKB_F32, 3, {{"padding", 2}}},
    {87, PKB_F16, 4, {{"stride", 2}}},
};

static void set_mode(struct problem_setting *s, const struct mode *m, int dtype)
{
    struct pkb_error err = {""};
    problem_setting_init(s, problem_by_id(m->id), SHAPE_TINY, dtype, 0, m->world);
    for (int i = 0; i < MAX_CHANGES && m->changes[i].name; i++) {
        if (problem_setting_override(s, m->changes[i].name, m->changes[i].value, &err) < 0)
            fail_msg("%s", err.text);
    }
}

static struct evaluation *create(const struct mode *m, int dtype)
{
    struct problem_setting s;
    set_mode(&s, m, dtype);
    return evaluation_or_fail(&s);
}

/* Gives the evaluation in f64 the same inputs. */
static void copy_inputs(struct evaluation *to, const struct evaluation *from)
{
    for (int r = 0; r < from->world; r++) {
        const struct evaluation_rank *src = &from->ranks[r];
        struct evaluation_rank *dst = &to->ranks[r];
        memcpy(dst->set.params, src->set.params, sizeof(dst->set.params));
        dst->set.trial = src->set.trial;
        for (int i = 0; i < src->n_in; i++)
            dtype_convert(dst->set.in[i].dtype, dst->set.in[i].data, src->set.in[i].dtype, src->set.in[i].data,
                          kit_numel(&src->set.in[i]));
    }
}

/* The outputs of a rank in the forms of another: converted, or zeros for NULL. */
static void make_outputs(const struct evaluation_rank *like, const struct evaluation_rank *from, pkb_tensor *out)
{
    for (int k = 0; k < like->n_out; k++) {
        out[k] = like->out[k];
        out[k].data = calloc(kit_numel(&out[k]) + 1, dtype_size(out[k].dtype));
        assert_non_null(out[k].data);
        if (from)
            dtype_convert(out[k].dtype, out[k].data, from->out[k].dtype, from->out[k].data, kit_numel(&out[k]));
    }
}

/* Whether all outputs of a rank pass. */
static bool passes(const struct evaluation *expected, const struct evaluation *actual, int r)
{
    pkb_tensor out[PROBLEM_MAX_TENSORS];
    struct problem_difference d;
    bool ok = true;
    make_outputs(&expected->ranks[r], actual ? &actual->ranks[r] : NULL, out);
    for (int k = 0; k < expected->ranks[r].n_out; k++) {
        evaluation_compare(expected, r, out, k, &d);
        ok = ok && d.ok;
        free(out[k].data);
    }
    return ok;
}

static void check_trial(const struct mode *m, uint32_t trial)
{
    struct pkb_error err = {""};
    struct evaluation *both[2] = {create(m, m->dtype), create(m, PKB_F64)};
    bool zeros_pass = true;
    evaluation_init(both[0], trial);
    copy_inputs(both[1], both[0]);
    if (evaluation_run(both, 2, &err) < 0)
        fail_msg("%s", err.text);
    for (int r = 0; r < m->world; r++) {
        if (!passes(both[0], both[1], r))
            fail_msg("problem %d, row %d, trial %u, rank %d: f64 does not pass", m->id, (int)(m - modes), trial, r);
        zeros_pass = zeros_pass && passes(both[0], NULL, r);
    }
    if (zeros_pass)
        fail_msg("problem %d, row %d, trial %u: zeros pass", m->id, (int)(m - modes), trial);
    evaluation_destroy(both[0]);
    evaluation_destroy(both[1]);
}

static void modes_are_computed_and_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        for (uint32_t trial = 0; trial < TRIALS; trial++)
            check_trial(&modes[i], trial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_are_computed_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
