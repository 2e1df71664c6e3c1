/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/mutants.h"

#include <math.h>
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

void answer_init(struct answer *a, const struct evaluation_rank *expected)
{
    a->n = expected->n_out;
    for (int k = 0; k < a->n; k++) {
        a->out[k] = expected->out[k];
        a->out[k].data = calloc(1, evaluation_bytes(&a->out[k]) + 1);
        assert_non_null(a->out[k].data);
    }
}

void answer_free(struct answer *a)
{
    for (int k = 0; k < a->n; k++)
        free(a->out[k].data);
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* Elements of an output that count. */
static size_t counted(const struct evaluation_rank *rank, int k)
{
    int64_t rows = 0;
    size_t all = kit_numel(&rank->out[k]);
    assert_int_equal(problem_rows(rank->outputs, rank->out, k, &rows, NULL), 0);
    return rank->outputs[k].rows_in ? all / (size_t)rank->out[k].shape[0] * (size_t)rows : all;
}

static void set_element(const pkb_tensor *t, size_t i, double value)
{
    dtype_from_f64(t->dtype, (char *)t->data + i * dtype_size(t->dtype), &value, 1);
}

/* ---- mutants ------------------------------------------------------------------------------------------------------- */

/* Makes a wrong result for output k of rank r, in the form of the expected one. false: cannot be made. */
typedef bool mutant_fn(const struct subject *s, int trial, int r, int k, pkb_tensor *result);

static bool zeros(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    (void)s, (void)trial, (void)r, (void)k;
    memset(result->data, 0, evaluation_bytes(result));
    return true;
}

/* The mean of rank 0's output in another trial, everywhere and always. */
static bool constant(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    (void)r;
    const struct evaluation_rank *of = &s->expected[trial == 0 ? 1 : 0]->ranks[0];
    size_t n = counted(of, k);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += evaluation_element(&of->out[k], i);
    for (size_t i = 0; i < kit_numel(result); i++)
        set_element(result, i, n > 0 ? sum / (double)n : 0);
    return true;
}

/* The first floating input with elements, else the first of another type; NULL when there is none. */
static const pkb_tensor *main_input(const struct evaluation_rank *rank)
{
    const pkb_tensor *main = NULL;
    for (int i = rank->n_in - 1; i >= 0; i--) {
        const pkb_tensor *in = &rank->set.in[i];
        if (kit_numel(in) > 0 && (!main || dtype_is_float(in->dtype) || !dtype_is_float(main->dtype)))
            main = in;
    }
    return main;
}

/* That input, repeated as often as it takes. */
static bool copied_input(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    (void)k;
    const pkb_tensor *in = main_input(&s->expected[trial]->ranks[r]);
    for (size_t j = 0; in && j < kit_numel(result); j++)
        set_element(result, j, evaluation_element(in, j % kit_numel(in)));
    return in != NULL;
}

static bool take(const struct evaluation *from, int r, int k, pkb_tensor *result)
{
    if (k >= from->ranks[r].n_out || !tensor_same_form(&from->ranks[r].out[k], result))
        return false;
    memcpy(result->data, from->ranks[r].out[k].data, evaluation_bytes(result));
    return true;
}

/* Another trial's output: computed once, returned ever after. */
static bool stale(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    return take(s->expected[(trial + TRIALS - 1) % TRIALS], r, k, result);
}

/* The next rank's output. */
static bool neighbour(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    return take(s->expected[trial], (r + 1) % s->expected[trial]->world, k, result);
}

static bool own_for_peers(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    return s->own[trial][r] && take(s->own[trial][r], r, k, result);
}

static bool nothing_from_peers(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    return s->silent[trial][r] && take(s->silent[trial][r], r, k, result);
}

/* Three per cent off, integers at least by one. */
static bool coarse(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    for (size_t i = 0; i < kit_numel(result); i++) {
        double value = 1.03 * evaluation_element(&s->expected[trial]->ranks[r].out[k], i);
        set_element(result, i, dtype_is_float(result->dtype) ? value : ceil(value));
    }
    return true;
}

/* Twice as large; 1 for an integer 0. */
static bool doubled(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    for (size_t i = 0; i < kit_numel(result); i++) {
        double value = 2 * evaluation_element(&s->expected[trial]->ranks[r].out[k], i);
        set_element(result, i, value == 0 && !dtype_is_float(result->dtype) ? 1 : value);
    }
    return true;
}

/* The last element that counts still holds the poison pattern. */
static bool unwritten(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    size_t width = dtype_size(result->dtype), n = counted(&s->expected[trial]->ranks[r], k);
    if (!take(s->expected[trial], r, k, result) || n == 0)
        return false;
    memset((char *)result->data + (n - 1) * width, 0xff, width);
    return true;
}

/* As it was before the call: poison, or the input that should have been updated. */
static bool untouched(const struct subject *s, int trial, int r, int k, pkb_tensor *result)
{
    const struct evaluation_rank *rank = &s->expected[trial]->ranks[r];
    int in_place = rank->outputs[k].in_place;
    if (in_place)
        memcpy(result->data, rank->set.in[in_place - 1].data, evaluation_bytes(result));
    else
        memset(result->data, 0xff, evaluation_bytes(result));
    return true;
}

struct mutant {
    const char *what;
    mutant_fn *make;
    int least_world;
    bool may_be_right;   /* where it is the same as the expected result: the next rank's, an input that is not to change */
    bool needs_variants; /* of the inputs, where the setup has them */
    enum { TOGETHER, ALONE, ALONE_F32 } noticed; /* in one output alone as well; only where T is as accurate as that */
};

static const struct mutant mutants[] = {
    {"zero", zeros, 1, false, false, ALONE},
    {"a constant", constant, 1, false, false, TOGETHER},
    {"a copy of the input", copied_input, 2, false, false, TOGETHER},
    {"another trial's output", stale, 1, false, false, TOGETHER},
    {"the next rank's output", neighbour, 2, true, false, TOGETHER},
    {"own data for the peers'", own_for_peers, 2, false, true, TOGETHER},
    {"nothing from peers", nothing_from_peers, 2, false, true, TOGETHER},
    {"3 % off", coarse, 1, false, false, ALONE_F32},
    {"twice as large", doubled, 1, false, false, ALONE},
    {"an element not written", unwritten, 1, false, false, ALONE},
    {"nothing written", untouched, 1, true, false, ALONE},
};

/* ---- judgement ----------------------------------------------------------------------------------------------------- */

static int reports;

/* A mutant that passes; the others are looked at all the same. */
static void report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void report(const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    print_error("%s\n", text);
    reports++;
}

struct verdict {
    bool made;    /* on some rank */
    bool noticed; /* by some rank */
    bool differs; /* some bit that counts on some rank */
};

static bool is_right(const struct evaluation *e, int r, const struct answer *a, int k)
{
    struct problem_difference d;
    evaluation_compare(e, r, a->out, k, &d);
    return d.ok;
}

/* Puts the wrong result into an output, or the right one where it cannot be made. Numbers of rows are always right: what they
 * count must be noticed by itself. */
static void put(const struct subject *s, const struct mutant *m, int trial, int r, struct answer *a, int k, struct verdict *v)
{
    const struct evaluation_rank *rank = &s->expected[trial]->ranks[r];
    size_t bytes = counted(rank, k) * dtype_size(rank->out[k].dtype);
    bool count = problem_counts_rows(rank->outputs, rank->n_out, k);
    bool made = !count && m->make(s, trial, r, k, &a->out[k]);
    if (!made)
        memcpy(a->out[k].data, rank->out[k].data, evaluation_bytes(&rank->out[k]));
    v->made = v->made || made;
    v->differs = v->differs || memcmp(a->out[k].data, rank->out[k].data, bytes) != 0;
}

/* All outputs of a rank. */
static void judge_rank(const struct subject *s, const struct mutant *m, int trial, int r, struct verdict *v)
{
    struct answer a;
    answer_init(&a, &s->expected[trial]->ranks[r]);
    for (int k = 0; k < a.n; k++)
        put(s, m, trial, r, &a, k, v);
    for (int k = 0; k < a.n; k++)
        v->noticed = v->noticed || !is_right(s->expected[trial], r, &a, k);
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

static void judge_together(const struct subject *s, const struct mutant *m, int trial)
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
        report("%s with %d ranks, trial %d: %s passes", s->problem->name, e->world, trial, m->what);
}

/* One output of a rank, the others right. */
static void judge_output(const struct subject *s, const struct mutant *m, int trial, int r, int k, struct verdict *v)
{
    const struct evaluation_rank *rank = &s->expected[trial]->ranks[r];
    struct answer a;
    if (k >= rank->n_out)
        return;
    answer_init(&a, rank);
    for (int i = 0; i < a.n; i++)
        memcpy(a.out[i].data, rank->out[i].data, evaluation_bytes(&rank->out[i]));
    put(s, m, trial, r, &a, k, v);
    v->noticed = v->noticed || !is_right(s->expected[trial], r, &a, k);
    answer_free(&a);
}

/* An output that may be anything would not be noticed in the company of others. */
static void judge_alone(const struct subject *s, const struct mutant *m)
{
    int world = s->expected[0]->world;
    for (int k = 0; k < PROBLEM_MAX_TENSORS; k++) {
        struct verdict v = {false, false, false};
        for (int trial = 0; trial < TRIALS && !v.noticed; trial++) {
            for (int r = 0; r < world && !v.noticed; r++)
                judge_output(s, m, trial, r, k, &v);
        }
        if (v.differs && !v.noticed)
            report("%s with %d ranks: %s passes in output %s alone", s->problem->name, world, m->what,
                   s->expected[0]->ranks[0].outputs[k].name);
    }
}

/* One row more and one row less than there are. */
static void judge_counts(const struct subject *s)
{
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct evaluation_rank *rank = &s->expected[trial]->ranks[0];
        for (int k = 0; k < rank->n_out; k++) {
            struct answer a;
            if (!problem_counts_rows(rank->outputs, rank->n_out, k))
                continue;
            for (int off = -1; off <= 1; off += 2) {
                answer_init(&a, rank);
                *(int64_t *)a.out[k].data = *(int64_t *)rank->out[k].data + off;
                if (is_right(s->expected[trial], 0, &a, k))
                    report("%s, trial %d: %+d rows pass", s->problem->name, trial, off);
                answer_free(&a);
            }
        }
    }
}

int mutants_pass(const struct subject *s)
{
    int dtype = s->expected[0]->ranks[0].setting.dtype;
    bool accurate = dtype == PKB_F32 || dtype == PKB_F64;
    reports = 0;
    for (size_t m = 0; m < sizeof(mutants) / sizeof(mutants[0]); m++) {
        for (int t = 0; t < TRIALS; t++)
            judge_together(s, &mutants[m], t);
        if (mutants[m].noticed == ALONE || (mutants[m].noticed == ALONE_F32 && accurate))
            judge_alone(s, &mutants[m]);
    }
    judge_counts(s);
    return reports;
}
