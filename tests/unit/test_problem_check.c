/* SPDX-License-Identifier: Apache-2.0 */
/* Self-tests of the checkers, for every problem of the registry, on the host backend with several ranks: the reference passes its
 * own check, so does the same computation in f64 rounded once, and what a wrong candidate would return does not: in every
 * trial some rank notices.
 *
 * Compiled several times, for some families each, so that they run side by side (PKB_TEST_FAMILIES), and once for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/kit.h"
#include "tests/support/evaluate_or_fail.h"
#include "tests/support/mutants.h"
#include "tests/support/selected.h"

#define MAX_PROBLEMS 128

#ifndef PKB_TEST_FAMILIES
#define PKB_TEST_FAMILIES "!" /* all */
#endif

/* A row of the tests below. */
struct setup {
    int world, dtype;
    bool variants; /* wrong candidates that take other inputs */
};

/* What one world evaluates. */
struct batch {
    const struct setup *setup;
    struct subject subjects[MAX_PROBLEMS];
    int n_subjects;
    struct evaluation **list;
    int n, room;
};

/* On how many ranks, more than one, each problem has been tested: a problem that refuses all settings is not. */
static struct {
    int right[MAX_PROBLEMS], wrong[MAX_PROBLEMS];
} tested;

/* ---- evaluations --------------------------------------------------------------------------------------------------- */

static struct evaluation *add(struct batch *b, const struct problem_setting *s)
{
    if (b->n == b->room) {
        b->room += 256;
        b->list = realloc(b->list, (size_t)b->room * sizeof(*b->list));
        assert_non_null(b->list);
    }
    struct evaluation *e = evaluation_or_fail(s);
    b->list[b->n++] = e;
    return e;
}

/* Gives an input the values of another (converted where the dtypes differ). */
static void set_input(struct evaluation_rank *to, int i, const struct evaluation_rank *from)
{
    pkb_tensor *dst = &to->set.in[i];
    const pkb_tensor *src = &from->set.in[i];
    dtype_convert(dst->dtype, dst->data, src->dtype, src->data, kit_numel(dst));
}

static bool same_shape(const pkb_tensor *a, const pkb_tensor *b)
{
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, sizeof(a->shape)) == 0;
}

/* An evaluation in which rank q has the inputs of rank q of `of` (source -1), or of rank `source` where the shapes allow. Where
 * they do not, and on other ranks than `only` (unless -1), inputs are zero. What the host reads, the sizes on which ranks
 * agree, stays as it is. */
static struct evaluation *add_variant(struct batch *b, const struct evaluation *of, int dtype, int source, int only)
{
    struct problem_setting s = of->ranks[0].setting;
    s.dtype = dtype;
    struct evaluation *e = add(b, &s);
    for (int q = 0; q < e->world; q++) {
        struct evaluation_rank *to = &e->ranks[q];
        const struct evaluation_rank *from = &of->ranks[source < 0 ? q : source];
        memcpy(to->set.params, of->ranks[q].set.params, sizeof(to->set.params));
        to->set.trial = of->ranks[q].set.trial;
        for (int i = 0; i < to->n_in; i++) {
            if (to->inputs[i].host)
                set_input(to, i, &of->ranks[q]);
            else if ((only < 0 || only == q) && same_shape(&to->set.in[i], &from->set.in[i]))
                set_input(to, i, from);
        }
    }
    return e;
}

static bool refuses(const struct problem_setting *of, int dtype)
{
    struct problem_setting s = *of;
    s.dtype = dtype;
    return problem_setting_check(&s, NULL) < 0;
}

static void add_trial(struct batch *b, struct subject *subject, const struct problem_setting *s, int trial)
{
    struct evaluation *e = add(b, s);
    evaluation_init(e, (uint32_t)trial);
    subject->expected[trial] = e;
    subject->again[trial] = add_variant(b, e, s->dtype, -1, -1);
    subject->wide[trial] = refuses(s, PKB_F64) ? NULL : add_variant(b, e, PKB_F64, -1, -1);
    for (int r = 0; b->setup->variants && r < s->world; r++) {
        subject->own[trial][r] = add_variant(b, e, s->dtype, r, -1);
        subject->silent[trial][r] = add_variant(b, e, s->dtype, -1, r);
    }
}

static void add_subject(struct batch *b, const struct problem *p)
{
    struct problem_setting s;
    struct pkb_error why = {""};
    problem_setting_init(&s, p, SHAPE_TINY, b->setup->dtype, 0, b->setup->world);
    if (problem_setting_check(&s, &why) < 0) {
        print_message("not tested: %s\n", why.text);
        return;
    }
    struct subject *subject = &b->subjects[b->n_subjects++];
    subject->problem = p;
    for (int t = 0; t < TRIALS; t++)
        add_trial(b, subject, &s, t);
    s.inputs = PROFILE_PKB;
    s.tolerance = PROFILE_PKB;
    for (int i = 0; i < 2 && problem_setting_check(&s, NULL) == 0; i++) {
        subject->published[i] = add(b, &s);
        evaluation_init(subject->published[i], 0);
    }
}

static void free_batch(struct batch *b)
{
    for (int i = 0; i < b->n; i++)
        evaluation_destroy(b->list[i]);
    free(b->list);
    free(b);
}

static struct batch *run_batch(const struct setup *setup)
{
    struct pkb_error err = {""};
    struct batch *b = calloc(1, sizeof(*b));
    assert_non_null(b);
    b->setup = setup;
    for (const struct problem *const *p = selected_of(PKB_TEST_FAMILIES); *p; p++)
        add_subject(b, *p);
    if (evaluation_run(b->list, b->n, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* ---- results that must pass ---------------------------------------------------------------------------------------- */

/* Every output of rank r in `actual` passes the check against `expected`. */
static void rank_passes(const struct subject *s, const char *what, const struct evaluation *expected,
                        const struct evaluation *actual, int r)
{
    struct answer a;
    answer_init(&a, &expected->ranks[r]);
    for (int k = 0; k < a.n; k++) {
        const pkb_tensor *from = &actual->ranks[r].out[k];
        dtype_convert(a.out[k].dtype, a.out[k].data, from->dtype, from->data, kit_numel(from));
    }
    for (int k = 0; k < a.n; k++) {
        struct problem_difference d;
        char text[256];
        evaluation_compare(expected, r, a.out, k, &d);
        problem_difference_describe(&d, a.out[k].ndim, text, sizeof(text));
        if (!d.ok)
            fail_msg("%s, %s, rank %d of %d, output %d: %s", s->problem->name, what, r, expected->world, k, text);
    }
    answer_free(&a);
}

static void all_pass(const struct subject *s, const char *what, const struct evaluation *expected,
                     const struct evaluation *actual)
{
    for (int r = 0; r < expected->world; r++)
        rank_passes(s, what, expected, actual, r);
}

static void right_results_pass(void **state)
{
    struct batch *b = run_batch(*state);
    for (int i = 0; i < b->n_subjects; i++) {
        const struct subject *s = &b->subjects[i];
        for (int t = 0; t < TRIALS; t++) {
            all_pass(s, "a second run", s->expected[t], s->again[t]);
            if (s->wide[t])
                all_pass(s, "f64 rounded once", s->expected[t], s->wide[t]);
        }
        tested.right[s->problem->id] += b->setup->world > 1;
        if (s->published[0])
            all_pass(s, "pkb profiles", s->published[0], s->published[1]);
    }
    free_batch(b);
}

/* ---- results that must not ----------------------------------------------------------------------------------------- */

static void wrong_results_do_not_pass(void **state)
{
    struct batch *b = run_batch(*state);
    int passed = 0;
    for (int i = 0; i < b->n_subjects; i++)
        passed += mutants_pass(&b->subjects[i]);
    for (int i = 0; i < b->n_subjects; i++)
        tested.wrong[b->subjects[i].problem->id] += b->setup->world > 1;
    free_batch(b);
    assert_int_equal(passed, 0);
}

static void no_problem_refuses_all_settings(void **state)
{
    (void)state;
    int n = 0;
    for (const struct problem *const *p = selected_of(PKB_TEST_FAMILIES); *p; p++, n++) {
        if (tested.right[(*p)->id] < 2 || tested.wrong[(*p)->id] < 2)
            fail_msg("%s has been tested in %d settings, its mutants in %d", (*p)->name, tested.right[(*p)->id],
                     tested.wrong[(*p)->id]);
    }
    if (n == 0)
        print_message("no problem of " PKB_TEST_FAMILIES " is selected\n");
}

/* Test, name, ranks, T, variants. From 17 ranks on sums of bf16 are checked by their bounds. */
#define SETUPS(X)                                                                                                                \
    X(right_results_pass, "right: 1 rank, bf16", 1, PKB_BF16, false)                                                             \
    X(right_results_pass, "right: 2 ranks, f16", 2, PKB_F16, false)                                                              \
    X(right_results_pass, "right: 3 ranks, bf16", 3, PKB_BF16, false)                                                            \
    X(right_results_pass, "right: 4 ranks, f64", 4, PKB_F64, false)                                                              \
    X(right_results_pass, "right: 8 ranks, bf16", 8, PKB_BF16, false)                                                            \
    X(right_results_pass, "right: 8 ranks, f32", 8, PKB_F32, false)                                                              \
    X(right_results_pass, "right: 17 ranks, bf16", 17, PKB_BF16, false)                                                          \
    X(wrong_results_do_not_pass, "wrong: 1 rank, bf16", 1, PKB_BF16, true)                                                       \
    X(wrong_results_do_not_pass, "wrong: 2 ranks, bf16", 2, PKB_BF16, true)                                                      \
    X(wrong_results_do_not_pass, "wrong: 4 ranks, bf16", 4, PKB_BF16, true)                                                      \
    X(wrong_results_do_not_pass, "wrong: 2 ranks, f32", 2, PKB_F32, true)                                                        \
    X(wrong_results_do_not_pass, "wrong: 4 ranks, f32", 4, PKB_F32, true)                                                        \
    X(wrong_results_do_not_pass, "wrong: 17 ranks, bf16", 17, PKB_BF16, false)

#define TEST(function, title, ranks, type, wanted)                                                                               \
    {.name = title, .test_func = function, .initial_state = &(struct setup){.world = ranks, .dtype = type, .variants = wanted}},

int main(void)
{
    const struct CMUnitTest tests[] = {SETUPS(TEST) cmocka_unit_test(no_problem_refuses_all_settings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
