/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of tensors, outputs whose rows are counted, a problem's own check. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "problems/kit.h"

/* ---- marks --------------------------------------------------------------------------------------------------------- */

/* Inputs: x (3, 4) f32, n i64, v (5) i64. Outputs: y (3, 4) f32, m i64, z (6, 2) f32, l f32. */
struct marked {
    struct problem_tensor in[3], out[4];
};

static void describe(struct marked *m)
{
    memset(m, 0, sizeof(*m));
    kit_tensor(&m->in[0], "x", PKB_F32, RT_SHAPE(3, 4));
    kit_tensor(&m->in[1], "n", PKB_I64, 0, NULL);
    kit_tensor(&m->in[2], "v", PKB_I64, RT_SHAPE(5));
    kit_tensor(&m->out[0], "y", PKB_F32, RT_SHAPE(3, 4));
    kit_tensor(&m->out[1], "m", PKB_I64, 0, NULL);
    kit_tensor(&m->out[2], "z", PKB_F32, RT_SHAPE(6, 2));
    kit_tensor(&m->out[3], "l", PKB_F32, 0, NULL);
}

struct mark_row {
    bool output;
    int tensor;
    bool host;
    int in_place, rows_in;
    const char *error; /* NULL: accepted */
};

static const struct mark_row mark_rows[] = {
    {true, 0, false, 1, 0, NULL},
    {true, 2, false, 0, 2, NULL},
    {true, 0, false, 1, 2, NULL},
    {false, 2, true, 0, 0, NULL},
    {false, 0, false, 0, 2, NULL},
    {false, 2, true, 0, ROWS_ELSEWHERE, NULL},

    {true, 2, false, 1, 0, "output z is updated in place, but no input has its form"},
    {true, 1, false, 1, 0, "output m is updated in place"},
    {true, 0, false, 4, 0, "output y is updated in place"},
    {true, 0, false, -1, 0, "output y is updated in place"},
    {false, 0, false, 1, 0, "input x cannot be an output"},
    {true, 2, false, 0, 1, "the rows of z are counted by no i64 scalar"},
    {true, 2, false, 0, 4, "the rows of z are counted by no i64 scalar"},
    {true, 2, false, 0, 5, "the rows of z are counted by no i64 scalar"},
    {true, 2, false, 0, ROWS_ELSEWHERE, "the rows of z are counted by no i64 scalar"},
    {true, 3, false, 0, 2, "l has no rows"},
    {false, 1, false, 0, ROWS_ELSEWHERE, "n has no rows"},
    {false, 0, false, 0, 3, "the rows of x are counted by no i64 scalar"},
    {false, 1, false, 0, 2, "n has no rows"},
    {true, 0, true, 0, 0, "output y cannot be an input that the host reads"},
};

static void marks_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(mark_rows) / sizeof(mark_rows[0]); i++) {
        const struct mark_row *r = &mark_rows[i];
        struct pkb_error err = {""};
        struct marked m;
        describe(&m);
        struct problem_tensor *t = r->output ? &m.out[r->tensor] : &m.in[r->tensor];
        t->host = r->host;
        t->in_place = r->in_place;
        t->rows_in = r->rows_in;
        int rc = problem_check_marks(m.in, 3, m.out, 4, &err);
        if (r->error ? rc != -1 || !strstr(err.text, r->error) : rc != 0)
            fail_msg("row %zu: %d, '%s'", i, rc, err.text);
    }
}

static void the_kit_sets_marks(void **state)
{
    (void)state;
    struct marked m;
    describe(&m);
    kit_host(&m.in[2]);
    kit_partial_rows(&m.in[2]);
    kit_counted_rows(&m.in[0], 1);
    kit_in_place(&m.out[0], 0);
    kit_counted_rows(&m.out[2], 1);
    assert_true(m.in[2].host && m.in[2].rows_in == ROWS_ELSEWHERE && m.in[0].rows_in == 2);
    assert_true(m.out[0].in_place == 1 && m.out[2].rows_in == 2);
    assert_int_equal(problem_check_marks(m.in, 3, m.out, 4, NULL), 0);
    assert_true(problem_counts_rows(m.out, 4, 1));
    assert_false(problem_counts_rows(m.out, 4, 0));
}

/* ---- outputs ------------------------------------------------------------------------------------------------------- */

/* A problem with the outputs n (i64), y (4, 2) f32 of which n rows count, order (4) i64 of which n count and which may be any
 * order that evidence, one f32 per entry, does not forbid. */
static int fake_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    kit_tensor(&t[0], "x", PKB_F32, RT_SHAPE(4, 2));
    return 1;
}

static int fake_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    kit_tensor(&t[0], "n", PKB_I64, 0, NULL);
    kit_tensor(&t[1], "y", PKB_F32, RT_SHAPE(4, 2));
    kit_counted_rows(&t[1], 0);
    kit_tensor(&t[2], "order", PKB_I64, RT_SHAPE(4));
    kit_counted_rows(&t[2], 0);
    return 3;
}

static int fake_evidence(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    kit_tensor(&t[0], "keys", PKB_F32, RT_SHAPE(4));
    return 1;
}

static void fake_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    *check = (struct problem_check){.kind = output == 2 ? CHECK_OWN : CHECK_CLOSE, .atol = 0.5};
}

static void fake_verify(const struct problem_evidence *e, int output, struct problem_difference *d)
{
    const int64_t *order = e->actual[output].data;
    const float *keys = e->evidence[0].data;
    d->elements = e->actual[output].shape[0];
    for (int64_t i = 0; i < d->elements; i++) {
        bool fine = order[i] >= 0 && order[i] < 4 && (i == 0 || keys[order[i - 1]] <= keys[order[i]]);
        if (fine)
            continue;
        d->first = d->wrong++ == 0 ? i : d->first;
        break;
    }
    d->ok = d->wrong == 0;
}

static const struct problem fake = {
    .name = "00_fake",
    .inputs = fake_inputs,
    .outputs = fake_outputs,
    .evidence = fake_evidence,
    .check = fake_check,
    .verify = fake_verify,
};

struct values {
    int64_t n;
    float y[8];
    int64_t order[4];
};

static void point(const struct problem_tensor *t, const struct values *v, pkb_tensor *out)
{
    const void *data[] = {&v->n, v->y, v->order};
    for (int k = 0; k < 3; k++) {
        out[k] = t[k].form;
        memcpy(&out[k].data, &data[k], sizeof(data[k]));
    }
}

struct judge_row {
    const char *what;
    enum problem_profile tolerance;
    struct values actual;
    int output;
    bool ok;
    int64_t elements;
};

/* Expected: two rows, 1 2 3 4; order 1 0; keys 7 7 0 0. */
static const struct values right = {2, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 9, 9}};

static const struct judge_row judge_rows[] = {
    {"the same", PROFILE_HARDENED, {2, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 9, 9}}, 1, true, 4},
    {"other rows that do not count", PROFILE_HARDENED, {2, {1, 2, 3, 4, -5, -6, 99, 0}, {1, 0, 2, 3}}, 1, true, 4},
    {"the same count", PROFILE_HARDENED, {2, {0}, {0}}, 0, true, 1},
    {"equal keys in another order", PROFILE_HARDENED, {2, {0}, {0, 1, -1, -1}}, 2, true, 2},
    {"the published check of an order", PROFILE_PKB, {2, {0}, {1, 0, -1, -1}}, 2, true, 2},
    {"the same count", PROFILE_PKB, {2, {0}, {0}}, 0, true, 1},

    {"a row that counts", PROFILE_HARDENED, {2, {1, 2, 3, 9, 5, 6, 7, 8}, {1, 0, 9, 9}}, 1, false, 4},
    {"one row less", PROFILE_HARDENED, {1, {1, 2, 3, 4, 5, 6, 7, 8}, {1, 0, 9, 9}}, 0, false, 1},
    {"fewer rows written than counted", PROFILE_HARDENED, {1, {1, 2, 0, 0, 5, 6, 7, 8}, {1, 0, 9, 9}}, 1, false, 4},
    {"a count within one per cent", PROFILE_PKB, {3, {0}, {0}}, 0, false, 1},
    {"a negative count", PROFILE_HARDENED, {-1, {0}, {0}}, 0, false, 1},
    {"keys in descending order", PROFILE_HARDENED, {2, {0}, {1, 2, 9, 9}}, 2, false, 2},
    {"an index out of range", PROFILE_HARDENED, {2, {0}, {1, 4, 9, 9}}, 2, false, 2},
    {"equal keys in another order, as published", PROFILE_PKB, {2, {0}, {0, 1, 9, 9}}, 2, false, 2},
};

static void outputs_are_judged(void **state)
{
    (void)state;
    float keys[4] = {7, 7, 0, 0};
    pkb_tensor expected[3], actual[3], evidence = {.data = keys, .dtype = PKB_F32, .ndim = 1, .shape = {4}};
    const float *tol[3] = {NULL};
    struct problem_tensor forms[PROBLEM_MAX_TENSORS];
    for (size_t i = 0; i < sizeof(judge_rows) / sizeof(judge_rows[0]); i++) {
        const struct judge_row *r = &judge_rows[i];
        struct problem_setting s = {.problem = &fake, .tolerance = r->tolerance, .atol = 0.6};
        struct problem_difference d;
        struct pkb_error err = {""};
        int n_out = fake.outputs(&s, forms);
        struct problem_results results = {&s, n_out, forms, expected, actual, tol, &evidence};
        point(forms, &right, expected);
        point(forms, &r->actual, actual);
        if (problem_judge(&results, r->output, &d, &err) < 0)
            fail_msg("%s: %s", r->what, err.text);
        if (d.ok != r->ok || d.elements != r->elements)
            fail_msg("%s: ok %d, %lld elements", r->what, d.ok, (long long)d.elements);
    }
}

static void counts_out_of_range_are_the_reference_s_fault(void **state)
{
    (void)state;
    static const struct {
        int64_t count, rows;
        const char *error;
    } rows[] = {
        {0, 0, NULL},
        {4, 4, NULL},
        {5, 0, "n counts 5 rows of y, which has room for 4"},
        {-1, 0, "n counts -1 rows of y"},
        {INT64_MIN, 0, "has room for 4"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct values v = right;
        struct problem_tensor forms[PROBLEM_MAX_TENSORS];
        pkb_tensor out[3];
        struct pkb_error err = {""};
        int64_t n;
        (void)fake.outputs(NULL, forms);
        v.n = rows[i].count;
        point(forms, &v, out);
        int rc = problem_rows(forms, out, 1, &n, &err);
        if (rows[i].error ? rc != -1 || !strstr(err.text, rows[i].error) : rc != 0 || n != rows[i].rows)
            fail_msg("count %lld: %d, %lld rows, '%s'", (long long)rows[i].count, rc, (long long)n, err.text);
    }
}

static void evidence_is_for_own_checks(void **state)
{
    (void)state;
    struct problem_setting s = {.problem = &fake};
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    assert_int_equal(problem_evidence_of(&s, t), 1);
    assert_string_equal(t[0].name, "keys");
    s.tolerance = PROFILE_PKB;
    assert_int_equal(problem_evidence_of(&s, t), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_checked),          cmocka_unit_test(the_kit_sets_marks),
        cmocka_unit_test(outputs_are_judged),         cmocka_unit_test(counts_out_of_range_are_the_reference_s_fault),
        cmocka_unit_test(evidence_is_for_own_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
