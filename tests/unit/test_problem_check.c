/* SPDX-License-Identifier: Apache-2.0 */
/* Self-tests of the checkers, for every problem of the registry, on the host backend with several ranks: the reference passes its
 * own check, so does the same computation in f64 rounded once, and what a wrong candidate would return does not: in every
 * trial some rank notices.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/evaluate.h"
#include "tests/support/selected.h"

/* As many as there are patterns of inputs in any problem. */
#define TRIALS 5

#define MAX_WORLD 32
#define MAX_PROBLEMS 87

/* The evaluations of one problem. */
struct subject {
    const struct problem *problem;
    struct evaluation *expected[TRIALS];
    struct evaluation *again[TRIALS];             /* the same once more */
    struct evaluation *wide[TRIALS];              /* the same inputs in f64 */
    struct evaluation *own[TRIALS][MAX_WORLD];    /* [r]: all ranks have rank r's inputs, as if r took its own for its peers' */
    struct evaluation *silent[TRIALS][MAX_WORLD]; /* [r]: all inputs but rank r's are zero */
    struct evaluation *published[2];              /* pkb profiles, twice; NULL where they refuse T */
};

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

/* ---- evaluations --------------------------------------------------------------------------------------------------- */

static struct evaluation *add(struct batch *b, const struct problem_setting *s)
{
    struct pkb_error err = {""};
    if (b->n == b->room) {
        b->room += 256;
        b->list = realloc(b->list, (size_t)b->room * sizeof(*b->list));
        assert_non_null(b->list);
    }
    struct evaluation *e = evaluation_create(s, &err);
    if (!e)
        fail_msg("%s", err.text);
    b->list[b->n++] = e;
    return e;
}

static size_t numel(const pkb_tensor *t)
{
    int64_t n;
    assert_int_equal(tensor_numel(t, &n, NULL), 0);
    return (size_t)n;
}

/* Gives an input the values of another (converted where the dtypes differ). */
static void set_input(struct evaluation_rank *to, int i, const struct evaluation_rank *from)
{
    pkb_tensor *dst = &to->set.in[i];
    const pkb_tensor *src = &from->set.in[i];
    dtype_convert(dst->dtype, dst->data, src->dtype, src->data, numel(dst));
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

static void add_trial(struct batch *b, struct subject *subject, const struct problem_setting *s, int trial)
{
    struct evaluation *e = add(b, s);
    evaluation_init(e, (uint32_t)trial);
    subject->expected[trial] = e;
    subject->again[trial] = add_variant(b, e, s->dtype, -1, -1);
    subject->wide[trial] = add_variant(b, e, PKB_F64, -1, -1);
    for (int r = 0; b->setup->variants && r < s->world; r++) {
        subject->own[trial][r] = add_variant(b, e, s->dtype, r, -1);
        subject->silent[trial][r] = add_variant(b, e, s->dtype, -1, r);
    }
}

static void add_subject(struct batch *b, const struct problem *p)
{
    struct problem_setting s;
    problem_setting_init(&s, p, SHAPE_TINY, b->setup->dtype, 0, b->setup->world);
    if (problem_setting_check(&s, NULL) < 0)
        return;
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
    for (const struct problem *const *p = selected_problems(); *p; p++)
        add_subject(b, *p);
    if (evaluation_run(b->list, b->n, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* ---- results that must pass ---------------------------------------------------------------------------------------- */

/* All outputs of a rank, in the forms of the expected ones. */
struct answer {
    int n;
    pkb_tensor out[PROBLEM_MAX_TENSORS];
};

static void answer_init(struct answer *a, const struct evaluation_rank *expected)
{
    a->n = expected->n_out;
    for (int k = 0; k < a->n; k++) {
        a->out[k] = expected->out[k];
        a->out[k].data = calloc(1, evaluation_bytes(&a->out[k]) + 1);
        assert_non_null(a->out[k].data);
    }
}

static void answer_free(struct answer *a)
{
    for (int k = 0; k < a->n; k++)
        free(a->out[k].data);
}

/* Every output of rank r in `actual` passes the check against `expected`. */
static void rank_passes(const struct subject *s, const char *what, const struct evaluation *expected,
                        const struct evaluation *actual, int r)
{
    struct answer a;
    answer_init(&a, &expected->ranks[r]);
    for (int k = 0; k < a.n; k++) {
        const pkb_tensor *from = &actual->ranks[r].out[k];
        dtype_convert(a.out[k].dtype, a.out[k].data, from->dtype, from->data, numel(from));
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
    assert_true(b->n_subjects > 0);
    for (int i = 0; i < b->n_subjects; i++) {
        const struct subject *s = &b->subjects[i];
        for (int t = 0; t < TRIALS; t++) {
            all_pass(s, "a second run", s->expected[t], s->again[t]);
            all_pass(s, "f64 rounded once", s->expected[t], s->wide[t]);
        }
        if (s->published[0])
            all_pass(s, "pkb profiles", s->published[0], s->published[1]);
    }
    free_batch(b);
}

/* ---- results that must not ----------------------------------------------------------------------------------------- */

/* Makes a wrong result for output k of rank r, in the form of the expected one. false: cannot be made. */
typedef bool mutant_fn(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result);

static bool zeros(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    (void)s, (void)trial, (void)r, (void)k;
    memset(result, 0, evaluation_bytes(form));
    return true;
}

static double element(const pkb_tensor *t, size_t i)
{
    double value;
    dtype_to_f64(t->dtype, &value, (const char *)t->data + i * dtype_size(t->dtype), 1);
    return value;
}

static void set_element(const pkb_tensor *form, void *result, size_t i, double value)
{
    dtype_from_f64(form->dtype, (char *)result + i * dtype_size(form->dtype), &value, 1);
}

/* The mean of rank 0's output in the first trial, everywhere and always. */
static bool constant(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    (void)r;
    const pkb_tensor *of = &s->expected[trial == 0 ? 1 : 0]->ranks[0].out[k];
    double sum = 0;
    for (size_t i = 0; i < numel(of); i++)
        sum += element(of, i);
    for (size_t i = 0; i < numel(form); i++)
        set_element(form, result, i, sum / (double)numel(of));
    return true;
}

/* The first floating input with elements, else the first of another type; NULL when there is none. */
static const pkb_tensor *main_input(const struct evaluation_rank *rank)
{
    const pkb_tensor *main = NULL;
    for (int i = rank->n_in - 1; i >= 0; i--) {
        const pkb_tensor *in = &rank->set.in[i];
        if (numel(in) > 0 && (!main || dtype_is_float(in->dtype) || !dtype_is_float(main->dtype)))
            main = in;
    }
    return main;
}

/* That input, repeated as often as it takes. */
static bool copied_input(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    (void)k;
    const pkb_tensor *in = main_input(&s->expected[trial]->ranks[r]);
    for (size_t j = 0; in && j < numel(form); j++)
        set_element(form, result, j, element(in, j % numel(in)));
    return in != NULL;
}

static bool take(const struct evaluation *from, int r, int k, const pkb_tensor *form, void *result)
{
    if (k >= from->ranks[r].n_out || !tensor_same_form(&from->ranks[r].out[k], form))
        return false;
    memcpy(result, from->ranks[r].out[k].data, evaluation_bytes(form));
    return true;
}

/* Another trial's output: computed once, returned ever after. */
static bool stale(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    return take(s->expected[(trial + TRIALS - 1) % TRIALS], r, k, form, result);
}

/* The next rank's output. */
static bool neighbour(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    return take(s->expected[trial], (r + 1) % s->expected[trial]->world, k, form, result);
}

static bool own_for_peers(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    return s->own[trial][r] && take(s->own[trial][r], r, k, form, result);
}

static bool nothing_from_peers(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    return s->silent[trial][r] && take(s->silent[trial][r], r, k, form, result);
}

/* Three per cent off, integers at least by one. */
static bool coarse(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    for (size_t i = 0; i < numel(form); i++) {
        double value = 1.03 * element(&s->expected[trial]->ranks[r].out[k], i);
        set_element(form, result, i, dtype_is_float(form->dtype) ? value : ceil(value));
    }
    return true;
}

/* The last element still holds the poison pattern. */
static bool unwritten(const struct subject *s, int trial, int r, int k, const pkb_tensor *form, void *result)
{
    size_t width = dtype_size(form->dtype);
    bool made = take(s->expected[trial], r, k, form, result);
    memset((char *)result + evaluation_bytes(form) - width, 0xff, width);
    return made;
}

struct mutant {
    const char *what;
    mutant_fn *make;
    int least_world;
    bool may_be_right;   /* where the outputs of all ranks are the same, the next rank's is right */
    bool needs_variants; /* of the inputs, where the setup has them */
};

static const struct mutant mutants[] = {
    {"zero", zeros, 1, false, false},
    {"a constant", constant, 1, false, false},
    {"a copy of the input", copied_input, 2, false, false},
    {"another trial's output", stale, 1, false, false},
    {"the next rank's output", neighbour, 2, true, false},
    {"own data for the peers'", own_for_peers, 2, false, true},
    {"nothing from peers", nothing_from_peers, 2, false, true},
    {"3 % off", coarse, 1, false, false},
    {"an element not written", unwritten, 1, false, false},
};

struct verdict {
    bool made;    /* on some rank */
    bool noticed; /* by some rank */
    bool differs; /* some bit on some rank */
};

/* The rank's outputs with those wrong that can be made. */
static void judge_rank(const struct subject *s, const struct mutant *m, int trial, int r, struct verdict *v)
{
    const struct evaluation *e = s->expected[trial];
    struct answer a;
    answer_init(&a, &e->ranks[r]);
    for (int k = 0; k < a.n; k++) {
        size_t bytes = evaluation_bytes(&a.out[k]);
        bool made = m->make(s, trial, r, k, &e->ranks[r].out[k], a.out[k].data);
        if (!made)
            memcpy(a.out[k].data, e->ranks[r].out[k].data, bytes);
        v->made = v->made || made;
        v->differs = v->differs || memcmp(a.out[k].data, e->ranks[r].out[k].data, bytes) != 0;
    }
    for (int k = 0; k < a.n; k++) {
        struct problem_difference d;
        evaluation_compare(e, r, a.out, k, &d);
        v->noticed = v->noticed || !d.ok;
    }
    answer_free(&a);
}

/* Whether any rank sends anything; where none does, what peers have does not matter. */
static bool communicates(const struct evaluation *e)
{
    bool any = false;
    for (int r = 0; r < e->world; r++) {
        struct problem_cost cost;
        e->ranks[r].setting.problem->cost(&e->ranks[r].setting, &cost);
        any = any || cost.link_bytes > 0;
    }
    return any;
}

static void judge_mutant(const struct subject *s, const struct mutant *m, int trial)
{
    const struct evaluation *e = s->expected[trial];
    struct verdict v = {false, false, false};
    bool may_be_right = m->may_be_right || (m->needs_variants && !communicates(e));
    if (e->world < m->least_world)
        return;
    for (int r = 0; r < e->world; r++)
        judge_rank(s, m, trial, r, &v);
    if (m->needs_variants && !s->own[trial][0])
        assert_false(v.made);
    else if (!v.noticed && (v.differs || !may_be_right))
        fail_msg("%s with %d ranks, trial %d: %s passes", s->problem->name, e->world, trial, m->what);
}

static void wrong_results_do_not_pass(void **state)
{
    struct batch *b = run_batch(*state);
    for (int i = 0; i < b->n_subjects; i++) {
        for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++) {
            for (int t = 0; t < TRIALS; t++)
                judge_mutant(&b->subjects[i], &mutants[m], t);
        }
    }
    free_batch(b);
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
    const struct CMUnitTest tests[] = {SETUPS(TEST)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
