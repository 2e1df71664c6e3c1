/* SPDX-License-Identifier: Apache-2.0 */
/* The judge on outputs whose rows are counted and on a problem's own check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/judge.h"

/* n (i64) counts the rows of y (3, 2) f32 and of order (3) i64, which may be any permutation that evidence, a key per entry, ranks. */
static int marked_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    t[0] = (struct problem_tensor){.name = "a", .form = {.dtype = PKB_U8, .ndim = 0}};
    return 1;
}

static int marked_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    t[0] = (struct problem_tensor){.name = "y", .form = {.dtype = PKB_F32, .ndim = 2, .shape = {3, 2}}, .rows_in = 2};
    t[1] = (struct problem_tensor){.name = "n", .form = {.dtype = PKB_I64, .ndim = 0}};
    t[2] = (struct problem_tensor){.name = "order", .form = {.dtype = PKB_I64, .ndim = 1, .shape = {3}}, .rows_in = 2};
    return 3;
}

static int marked_evidence(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    t[0] = (struct problem_tensor){.name = "keys", .form = {.dtype = PKB_F64, .ndim = 1, .shape = {3}}};
    return 1;
}

static void marked_check(const struct problem_setting *s, int output, struct problem_check *c)
{
    (void)s;
    *c = (struct problem_check){.kind = output == 2 ? CHECK_OWN : CHECK_EXACT};
}

static void marked_verify(const struct problem_evidence *e, int output, struct problem_difference *d)
{
    const int64_t *order = e->actual[output].data;
    const double *keys = e->evidence[0].data;
    d->elements = e->expected[output].shape[0];
    for (int64_t i = 0; i < d->elements; i++) {
        bool right = order[i] >= 0 && order[i] < 3 && (i == 0 || keys[order[i - 1]] <= keys[order[i]]);
        if (!right && d->wrong++ == 0) {
            d->first = d->first_index[0] = i;
            d->actual = (double)order[i];
        }
        if (!right)
            break;
    }
    d->ok = d->wrong == 0;
}

static const struct problem marked = {.id = 2,
                                      .name = "marked",
                                      .inputs = marked_inputs,
                                      .outputs = marked_outputs,
                                      .evidence = marked_evidence,
                                      .check = marked_check,
                                      .verify = marked_verify};

struct marked_values {
    float y[6];
    int64_t n, order[3];
};

static void put_outputs(const struct segment_layout *l, const size_t *offset, char *base, const struct marked_values *v)
{
    const void *data[] = {v->y, &v->n, v->order};
    for (int k = 0; k < 3; k++)
        memcpy(base + offset[k], data[k], l->out_bytes[k]);
}

struct marked_row {
    int64_t expected_n;
    struct marked_values left;
    enum outcome outcome;
    const char *detail;
};

/* Expected: 1 2 3 4 and order 1, 0; keys 5 5 1. */
static const struct marked_row marked_rows[] = {
    {2, {{1, 2, 3, 4, 9, 9}, 2, {1, 0, 7}}, OUTCOME_CORRECT, ""},
    {2, {{1, 2, 3, 4, 0, 0}, 2, {0, 1, -1}}, OUTCOME_CORRECT, ""},
    {0, {{9, 9, 9, 9, 9, 9}, 0, {9, 9, 9}}, OUTCOME_CORRECT, ""},
    {3, {{1, 2, 3, 4, 5, 6}, 3, {2, 1, 0}}, OUTCOME_CORRECT, ""},
    {2, {{1, 2, 3, 4, 9, 9}, 3, {1, 0, 7}}, OUTCOME_VALUE_MISMATCH, "trial 0: output n: y has 2 rows, not 3"},
    {2, {{9, 9, 9, 9, 9, 9}, -1, {1, 0, 7}}, OUTCOME_VALUE_MISMATCH, "trial 0: output n: y has 2 rows, not -1"},
    {2, {{1, 2, 3, 9, 9, 9}, 2, {1, 0, 7}}, OUTCOME_VALUE_MISMATCH, "trial 0: output y: 1 of 4 elements differ, first at [1, 1]"},
    {2,
     {{1, 2, 3, 4, 9, 9}, 2, {1, 2, 7}},
     OUTCOME_VALUE_MISMATCH,
     "trial 0: output order: 1 of 2 elements differ, first at [1]"},
    {2, {{1, 2, 3, 4, 9, 9}, 2, {INT64_MAX, 0, 7}}, OUTCOME_VALUE_MISMATCH, "output order"},
    {4, {{1, 2, 3, 4, 9, 9}, 4, {1, 0, 7}}, OUTCOME_INFRA_ERROR, "n counts 4 rows of y, which has room for 3"},
    {-1, {{1, 2, 3, 4, 9, 9}, 2, {1, 0, 7}}, OUTCOME_INFRA_ERROR, "n counts -1 rows"},
};

static void judge_row(const struct marked_row *r, struct judge_verdict *v)
{
    const struct problem_setting setting = {.problem = &marked, .dtype = PKB_F32, .world = 1};
    const double keys[3] = {5, 5, 1};
    const struct marked_values right = {{1, 2, 3, 4, 5, 6}, r->expected_n, {1, 0, 8}};
    struct segment_layout l;
    assert_int_equal(segment_layout_make(&setting, 1, 1, 0, 0, &l, NULL), 0);
    char *inputs = calloc(1, l.inputs_size), *expected = calloc(1, l.expected_size), *slots = calloc(1, l.slots_size);
    assert_true(inputs && expected && slots);
    for (int k = 0; k < 3; k++)
        memcpy(slots + (size_t)k * sizeof(pkb_tensor), &l.out[k].form, sizeof(pkb_tensor));
    put_outputs(&l, l.expected_offset, expected, &right);
    put_outputs(&l, l.out_offset, slots, &r->left);
    memcpy(expected + l.evidence_offset[0], keys, sizeof(keys));
    const struct judge_view view = {&setting, &l, inputs, expected, slots};
    judge_trial(&view, 0, v);
    free(inputs);
    free(expected);
    free(slots);
}

static void test_marked_outputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(marked_rows) / sizeof(marked_rows[0]); i++) {
        const struct marked_row *r = &marked_rows[i];
        struct judge_verdict v;
        judge_row(r, &v);
        if (v.outcome != r->outcome || !strstr(v.detail, r->detail))
            fail_msg("row %zu: %s, '%s'", i, outcome_name(v.outcome), v.detail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marked_outputs),
    };
    return cmocka_run_group_tests_name("judge of marked outputs", tests, NULL, NULL);
}
