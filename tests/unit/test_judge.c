/* SPDX-License-Identifier: Apache-2.0 */
/* The judge, on made-up memory and made-up clocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/judge.h"

#define TRIALS 3
#define TIMED 2
#define SAMPLES 2
#define ROWS 4
#define COLUMNS 5

/* Two inputs, two outputs: y f32 (exact) and z f64 (within a bound). */
static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    t[0] = (struct problem_tensor){.name = "a", .form = {.dtype = PKB_F32, .ndim = 1, .shape = {3}}};
    t[1] = (struct problem_tensor){.name = "b", .form = {.dtype = PKB_U8, .ndim = 0}};
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    (void)s;
    t[0] = (struct problem_tensor){.name = "y", .form = {.dtype = PKB_F32, .ndim = 2, .shape = {ROWS, COLUMNS}}};
    t[1] = (struct problem_tensor){.name = "z", .form = {.dtype = PKB_F64, .ndim = 1, .shape = {2}}};
    return 2;
}

static void check(const struct problem_setting *s, int output, struct problem_check *c)
{
    (void)s;
    *c = (struct problem_check){.kind = output == 0 ? CHECK_EXACT : CHECK_BOUND};
}

static const struct problem problem = {.id = 1, .name = "two", .inputs = inputs, .outputs = outputs, .check = check};

struct court {
    struct problem_setting setting;
    struct segment_layout layout;
    char *inputs, *expected, *slots;
    struct judge_view view;
};

static float *y_of_slot(struct court *c, int slot)
{
    return (float *)(void *)(c->slots + c->layout.slot_stride * (size_t)slot + c->layout.out_offset[0]);
}

static double *z_of_slot(struct court *c, int slot)
{
    return (double *)(void *)(c->slots + c->layout.slot_stride * (size_t)slot + c->layout.out_offset[1]);
}

static pkb_tensor *forms_of_slot(struct court *c, int slot)
{
    return (pkb_tensor *)(void *)(c->slots + c->layout.slot_stride * (size_t)slot);
}

static char *after_of_slot(struct court *c, int slot, int input)
{
    return c->slots + c->layout.slot_stride * (size_t)slot + c->layout.after_offset[input];
}

static void fill_set(struct court *c, int set)
{
    const struct segment_layout *l = &c->layout;
    float *a = (float *)(void *)(c->inputs + l->in_stride * (size_t)set + l->in_offset[0]);
    float *y = (float *)(void *)(c->expected + l->expected_stride * (size_t)set + l->expected_offset[0]);
    double *z = (double *)(void *)(c->expected + l->expected_stride * (size_t)set + l->expected_offset[1]);
    float *tol = (float *)(void *)(c->expected + l->expected_stride * (size_t)set + l->tolerance_offset[1]);
    for (int i = 0; i < 3; i++)
        a[i] = (float)(10 * set + i);
    c->inputs[l->in_stride * (size_t)set + l->in_offset[1]] = (char)set;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        y[i] = (float)(100 * set + i);
    for (int i = 0; i < 2; i++) {
        z[i] = set + i;
        tol[i] = 0.25f;
    }
}

/* What a right candidate leaves in a slot. */
static void fill_slot(struct court *c, int slot, int set)
{
    const struct segment_layout *l = &c->layout;
    const char *expected = c->expected + l->expected_stride * (size_t)set, *given = c->inputs + l->in_stride * (size_t)set;
    for (int k = 0; k < l->n_out; k++)
        forms_of_slot(c, slot)[k] = l->out[k].form;
    memcpy(y_of_slot(c, slot), expected + l->expected_offset[0], l->out_bytes[0]);
    memcpy(z_of_slot(c, slot), expected + l->expected_offset[1], l->out_bytes[1]);
    z_of_slot(c, slot)[1] += 0.2;
    for (int k = 0; k < l->n_in; k++)
        memcpy(after_of_slot(c, slot, k), given + l->in_offset[k], l->in_bytes[k]);
}

static int set_up(void **state)
{
    struct court *c = calloc(1, sizeof(*c));
    assert_non_null(c);
    c->setting = (struct problem_setting){.problem = &problem, .dtype = PKB_F32, .world = 1};
    assert_int_equal(segment_layout_make(&c->setting, TRIALS, TIMED, SAMPLES, 0, &c->layout, NULL), 0);
    c->inputs = calloc(1, c->layout.inputs_size);
    c->expected = calloc(1, c->layout.expected_size);
    c->slots = calloc(1, c->layout.slots_size);
    assert_true(c->inputs && c->expected && c->slots);
    c->view = (struct judge_view){&c->setting, &c->layout, c->inputs, c->expected, c->slots};
    for (int set = 0; set < TRIALS + TIMED; set++)
        fill_set(c, set);
    for (int trial = 0; trial < TRIALS; trial++)
        fill_slot(c, trial, trial);
    fill_slot(c, TRIALS + 0, TRIALS + 1); /* iteration 7 */
    fill_slot(c, TRIALS + 1, TRIALS + 0); /* iteration 4 */
    *state = c;
    return 0;
}

static int tear_down(void **state)
{
    struct court *c = *state;
    free(c->inputs);
    free(c->expected);
    free(c->slots);
    free(c);
    return 0;
}

static void expect_trial(struct court *c, int trial, enum outcome outcome, int tensor, const char *text)
{
    struct judge_verdict v;
    judge_trial(&c->view, trial, &v);
    assert_int_equal(v.outcome, outcome);
    assert_int_equal(v.tensor, tensor);
    if (!strstr(v.detail, text))
        fail_msg("'%s' is not in '%s'", text, v.detail);
}

static void test_right_outputs(void **state)
{
    struct court *c = *state;
    struct judge_verdict v;
    for (int t = 0; t < TRIALS; t++) {
        judge_trial(&c->view, t, &v);
        assert_int_equal(v.outcome, OUTCOME_CORRECT);
        assert_string_equal(v.detail, "");
        assert_true(v.max_abs > 0.19 && v.max_abs < 0.21);
        assert_false(v.input);
    }
}

static void test_samples_use_the_set_of_their_iteration(void **state)
{
    struct court *c = *state;
    struct judge_verdict v;
    assert_int_equal(judge_set_of_iteration(&c->layout, 7), TRIALS + 1);
    judge_sample(&c->view, 0, 7, &v);
    assert_int_equal(v.outcome, OUTCOME_CORRECT);
    judge_sample(&c->view, 1, 4, &v);
    assert_int_equal(v.outcome, OUTCOME_CORRECT);
    judge_sample(&c->view, 0, 8, &v); /* outputs of other inputs */
    assert_int_equal(v.outcome, OUTCOME_VALUE_MISMATCH);
    assert_non_null(strstr(v.detail, "timed iteration 8: output y"));
}

static void test_wrong_values(void **state)
{
    struct court *c = *state;
    y_of_slot(c, 2)[7] = -1;
    expect_trial(c, 0, OUTCOME_CORRECT, -1, "");
    expect_trial(c, 2, OUTCOME_VALUE_MISMATCH, 0, "trial 2: output y: 1 of 20 elements");
    expect_trial(c, 2, OUTCOME_VALUE_MISMATCH, 0, "[1, 2]");
    expect_trial(c, 2, OUTCOME_VALUE_MISMATCH, 0, "207");
    fill_slot(c, 2, 2);
    z_of_slot(c, 2)[0] += 0.3;
    expect_trial(c, 2, OUTCOME_VALUE_MISMATCH, 1, "output z");
}

static void test_poison_is_wrong(void **state)
{
    struct court *c = *state;
    struct judge_verdict v;
    memset(z_of_slot(c, 1), 0xff, 16);
    expect_trial(c, 1, OUTCOME_VALUE_MISMATCH, 1, "output z: 2 of 2 elements");
    judge_trial(&c->view, 1, &v);
    assert_true(isnan(v.max_abs) || isinf(v.max_abs));
}

static void test_modified_inputs(void **state)
{
    struct court *c = *state;
    struct judge_verdict v;
    *after_of_slot(c, 0, 1) ^= 1;
    judge_trial(&c->view, 0, &v);
    assert_int_equal(v.outcome, OUTCOME_VALUE_MISMATCH);
    assert_true(v.input);
    assert_int_equal(v.tensor, 1);
    assert_string_equal(v.detail, "trial 0: input b was modified; inputs must not be written");
    after_of_slot(c, TRIALS, 0)[11] ^= 64;
    judge_sample(&c->view, 0, 7, &v);
    assert_string_equal(v.detail, "timed iteration 7: input a was modified; inputs must not be written");
}

static void test_forms(void **state)
{
    struct court *c = *state;
    static const struct {
        pkb_tensor form;
        const char *text;
    } rows[] = {
        {{.dtype = PKB_F32, .ndim = 2, .shape = {ROWS, COLUMNS - 1}}, "expected f32[4, 5], got f32[4, 4]"},
        {{.dtype = PKB_F32, .ndim = 2, .shape = {COLUMNS, ROWS}}, "got f32[5, 4]"},
        {{.dtype = PKB_F32, .ndim = 1, .shape = {ROWS * COLUMNS}}, "got f32[20]"},
        {{.dtype = PKB_F64, .ndim = 2, .shape = {ROWS, COLUMNS}}, "got f64[4, 5]"},
        {{.dtype = 77, .ndim = 2, .shape = {ROWS, COLUMNS}}, "got dtype 77 with 2 dimensions"},
        {{.dtype = -1, .ndim = -1}, "got dtype -1 with -1 dimensions"},
        {{.dtype = PKB_F32, .ndim = 0x7fffffff, .shape = {-1, -1}}, "2147483647 dimensions"},
        {{.dtype = PKB_F32, .ndim = 2, .shape = {INT64_MIN, INT64_MAX}}, "shape"},
        {{.data = (void *)8, .dtype = PKB_F32, .ndim = 2, .shape = {ROWS, COLUMNS}}, "data pointer was replaced"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        forms_of_slot(c, 1)[0] = rows[i].form;
        expect_trial(c, 1, OUTCOME_SHAPE_MISMATCH, 0, i == 7 ? "trial 1: output y" : rows[i].text);
    }
    memset(forms_of_slot(c, 1), 0xff, PROBLEM_MAX_TENSORS * sizeof(pkb_tensor));
    expect_trial(c, 1, OUTCOME_SHAPE_MISMATCH, 0, "trial 1: output y");
}

/* ---- clocks ------------------------------------------------------------------------------------------------------------- */

static void test_samples_by_themselves(void **state)
{
    static const double good[] = {1, 0.5, 1e15}, zero[] = {1, 0}, negative[] = {1, -1}, nan_[] = {NAN, 1}, inf[] = {1, INFINITY};
    struct pkb_error err;
    (void)state;
    assert_int_equal(judge_samples(good, 3, 3, &err), 0);
    assert_int_equal(judge_samples(good, 0, 0, &err), 0);
    assert_int_equal(judge_samples(good, 2, 3, &err), -1);
    assert_non_null(strstr(err.text, "2 times were reported for 3 iterations"));
    assert_int_equal(judge_samples(good, 3, 2, &err), -1);
    assert_int_equal(judge_samples(zero, 2, 2, &err), -1);
    assert_non_null(strstr(err.text, "iteration 1"));
    assert_int_equal(judge_samples(negative, 2, 2, &err), -1);
    assert_int_equal(judge_samples(nan_, 2, 2, &err), -1);
    assert_int_equal(judge_samples(inf, 2, 2, &err), -1);
}

/* A loop of two ranks whose samples are all alike, in milliseconds. */
struct clocks {
    double ns[2][100];
    const double *rows[2];
    double wall[2], queue[2];
    struct judge_loop loop;
};

static void make_clocks(struct clocks *c, int iterations, double sample, double wall, double queue)
{
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < iterations; i++)
            c->ns[r][i] = sample * 1e6;
        c->rows[r] = c->ns[r];
        c->wall[r] = wall * 1e6;
        c->queue[r] = queue < 0 ? -1 : queue * 1e6;
    }
    c->loop = (struct judge_loop){2, iterations, c->rows, c->wall, c->queue};
}

struct clock_row {
    const char *what;
    double sample, wall, queue;              /* candidate, 100 iterations, ms */
    double reference_sample, reference_wall; /* 50 iterations */
    enum outcome outcome;
    bool conclusive;
};

static void test_clocks(void **state)
{
    static const struct clock_row rows[] = {
        {"honest", 10, 1010, 0, 10, 505, OUTCOME_CORRECT, true},
        {"honest and ten times faster", 1, 110, 0, 10, 505, OUTCOME_CORRECT, false},
        {"honest, tiny calls, much overhead", 0.001, 30, 0, 0.001, 15, OUTCOME_CORRECT, false},
        {"honest, waits for a core moved from the calls to the barriers", 0.1, 1000, 450, 10, 505, OUTCOME_CORRECT, false},
        {"honest, agent held up for 40 ms", 0.01, 41, 0, 0.01, 0.6, OUTCOME_CORRECT, false},
        {"honest, kernel does not tell waits", 0.1, 5000, -1, 10, 505, OUTCOME_CORRECT, false},
        {"honest, wall and claim equal", 10, 1000, 0, 10, 500, OUTCOME_CORRECT, true},
        {"claims a little more than the wall", 10.05, 1000, 0, 10, 505, OUTCOME_CORRECT, true},
        {"claims a tenth", 1, 1010, 0, 10, 505, OUTCOME_TAMPERING, true},
        {"claims a tenth on a busy machine", 1, 1010, 100, 10, 505, OUTCOME_TAMPERING, true},
        {"claims nothing", 1e-6, 1010, 0, 10, 505, OUTCOME_TAMPERING, true},
        {"claims a tenth in a loop that is too short", 0.02, 22, 0, 0.2, 11, OUTCOME_CORRECT, false},
        {"claims twice the wall", 20, 1010, 0, 10, 505, OUTCOME_TAMPERING, true},
        {"claims much although the kernel does not tell waits", 20, 1010, -1, 10, 505, OUTCOME_TAMPERING, false},
        {"a reference of no iterations allows nothing more", 1, 1010, 0, 10, -1, OUTCOME_TAMPERING, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct clock_row *row = &rows[i];
        struct clocks candidate, reference;
        struct judge_clock c;
        make_clocks(&candidate, 100, row->sample, row->wall, row->queue);
        make_clocks(&reference, row->reference_wall < 0 ? 0 : 50, row->reference_sample, fmax(0, row->reference_wall), 0);
        judge_clock(&candidate.loop, &reference.loop, &c);
        if (c.outcome != row->outcome || (c.outcome == OUTCOME_CORRECT && c.conclusive != row->conclusive))
            fail_msg("%s: %s, conclusive %d: %s", row->what, outcome_name(c.outcome), c.conclusive, c.detail);
        assert_int_equal(c.detail[0] == '\0', c.outcome == OUTCOME_CORRECT);
    }
}

static void test_the_slowest_rank_of_each_iteration_counts(void **state)
{
    struct clocks candidate, reference;
    struct judge_clock c;
    (void)state;
    make_clocks(&candidate, 100, 4, 1000, 0);
    make_clocks(&reference, 50, 10, 505, 0);
    for (int i = 0; i < 100; i++)
        candidate.ns[i % 2][i] = 9.5e6;
    judge_clock(&candidate.loop, &reference.loop, &c);
    assert_int_equal(c.outcome, OUTCOME_CORRECT);
    assert_true(fabs(c.claimed_ns - 950e6) < 1);
    assert_true(fabs(c.unexplained_ns - 50e6) < 1);
}

static void test_one_rank_claims_more_than_its_wall(void **state)
{
    struct clocks candidate, reference;
    struct judge_clock c;
    (void)state;
    make_clocks(&candidate, 100, 4, 410, 0);
    make_clocks(&reference, 50, 4, 205, 0);
    candidate.wall[0] = 1000e6;
    candidate.ns[1][3] = 200e6;
    judge_clock(&candidate.loop, &reference.loop, &c);
    assert_int_equal(c.outcome, OUTCOME_TAMPERING);
    assert_int_equal(c.rank, 1);
    assert_non_null(strstr(c.detail, "rank 1 reports"));
}

/* A rank that burns queue waits in many threads gets no more than its wall believed, and the check says that it decided nothing. */
static void test_inflated_queue_waits_are_inconclusive(void **state)
{
    struct clocks candidate, reference;
    struct judge_clock c;
    (void)state;
    make_clocks(&candidate, 100, 1, 1000, 1e9);
    make_clocks(&reference, 50, 10, 505, 0);
    judge_clock(&candidate.loop, &reference.loop, &c);
    assert_int_equal(c.outcome, OUTCOME_CORRECT);
    assert_false(c.conclusive);
    assert_true(c.allowed_ns < 2700e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_right_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_samples_use_the_set_of_their_iteration, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_poison_is_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modified_inputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forms, set_up, tear_down),
        cmocka_unit_test(test_samples_by_themselves),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_the_slowest_rank_of_each_iteration_counts),
        cmocka_unit_test(test_one_rank_claims_more_than_its_wall),
        cmocka_unit_test(test_inflated_queue_waits_are_inconclusive),
    };
    return cmocka_run_group_tests_name("judge", tests, NULL, NULL);
}
