/* SPDX-License-Identifier: Apache-2.0 */
/* How far results may be from the reference's, where tiny inputs do not tell: correct programs round elsewhere and add in another
 * order, and pass; a program that does not look at one of its inputs does not. And what fillers make is within the range of T. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/evaluate_or_fail.h"

#define TRIALS 3

/* A parameter that is not the tiny shape's. */
struct size {
    const char *name;
    double value;
};

static struct evaluation *evaluation_of(int id, int dtype, int world, const struct size *sizes, uint32_t trial)
{
    struct problem_setting s;
    struct pkb_error err = {""};
    problem_setting_init(&s, problem_by_id(id), SHAPE_TINY, dtype, 0, world);
    for (; sizes->name; sizes++) {
        if (problem_setting_override(&s, sizes->name, sizes->value, &err) < 0)
            fail_msg("%s", err.text);
    }
    struct evaluation *e = evaluation_or_fail(&s);
    evaluation_init(e, trial);
    return e;
}

static void run(struct evaluation *const *list, int n)
{
    struct pkb_error err = {""};
    if (evaluation_run(list, n, &err) < 0)
        fail_msg("%s", err.text);
}

static size_t numel(const pkb_tensor *t)
{
    int64_t n;
    assert_int_equal(tensor_numel(t, &n, NULL), 0);
    return (size_t)n;
}

/* The first output of a rank that is refused, the outputs being another evaluation's, converted where dtypes differ; -1: none. */
static int first_refused(const struct evaluation_rank *expected, const struct evaluation *e, int r, const pkb_tensor *out)
{
    pkb_tensor actual[PROBLEM_MAX_TENSORS];
    struct problem_difference d = {.ok = true};
    int k;
    for (k = 0; k < expected->n_out; k++) {
        actual[k] = expected->out[k];
        actual[k].data = malloc(evaluation_bytes(&actual[k]) + 1);
        assert_non_null(actual[k].data);
        dtype_convert(actual[k].dtype, actual[k].data, out[k].dtype, out[k].data, numel(&actual[k]));
    }
    for (k = 0; k < expected->n_out && d.ok; k++)
        evaluation_compare(e, r, actual, k, &d);
    for (int i = 0; i < expected->n_out; i++)
        free(actual[i].data);
    return d.ok ? -1 : k - 1;
}

static int refused(const struct evaluation *expected, const struct evaluation *actual)
{
    int k = -1;
    for (int r = 0; r < expected->world && k < 0; r++)
        k = first_refused(&expected->ranks[r], expected, r, actual->ranks[r].out);
    return k;
}

/* ---- correct, but otherwise ---------------------------------------------------------------------------------------- */

/* Rows of the first two inputs in reverse order, which is the order of sums over rows (of a batch). */
static void reverse_rows(struct evaluation_rank *to, const struct evaluation_rank *from)
{
    for (int i = 0; i < 2; i++) {
        const pkb_tensor *src = &from->set.in[i];
        size_t rows = (size_t)src->shape[0], bytes = evaluation_bytes(src) / rows;
        for (size_t a = 0; a < rows; a++)
            memcpy((char *)to->set.in[i].data + a * bytes, (char *)src->data + (rows - 1 - a) * bytes, bytes);
    }
}

/* The same of their last axes, over which a product sums. */
static void reverse_columns(struct evaluation_rank *to, const struct evaluation_rank *from)
{
    for (int i = 0; i < 2; i++) {
        const pkb_tensor *src = &from->set.in[i];
        size_t n = (size_t)src->shape[src->ndim - 1], width = dtype_size(src->dtype);
        for (size_t a = 0; a < numel(src); a++) {
            size_t b = a / n * n + n - 1 - a % n;
            memcpy((char *)to->set.in[i].data + a * width, (char *)src->data + b * width, width);
        }
    }
}

/* All inputs as f64: one rounding, at the end. */
static void widen(struct evaluation_rank *to, const struct evaluation_rank *from)
{
    for (int i = 0; i < from->n_in; i++) {
        const pkb_tensor *src = &from->set.in[i];
        dtype_convert(to->set.in[i].dtype, to->set.in[i].data, src->dtype, src->data, numel(src));
    }
}

/* All floating inputs by a factor, so that results are among the smallest numbers of T. */
static void shrink(struct evaluation *e, double factor)
{
    for (int r = 0; r < e->world; r++) {
        for (int i = 0; i < e->ranks[r].n_in; i++) {
            pkb_tensor *t = &e->ranks[r].set.in[i];
            for (size_t j = 0; dtype_is_float(t->dtype) && j < numel(t); j++) {
                double value = factor * evaluation_element(t, j);
                dtype_from_f64(t->dtype, (char *)t->data + j * dtype_size(t->dtype), &value, 1);
            }
        }
    }
}

struct otherwise_row {
    int id, dtype, world, trial;
    void (*change)(struct evaluation_rank *to, const struct evaluation_rank *from);
    double factor; /* of all inputs */
    struct size sizes[4];
};

static const struct otherwise_row otherwise_rows[] = {
    {15, PKB_BF16, 1, 1, widen, 1, {{"M", 1024}, {"H", 64}, {"F", 16}}},
    {15, PKB_F16, 2, 0, widen, 1, {{"M", 256}, {"H", 64}, {"F", 8}}},
    {17, PKB_F16, 2, 0, widen, 0x1p-9, {{"B", 16}}},
    {29, PKB_F16, 2, 1, widen, 0x1p-10, {{"M", 256}}},
    {39, PKB_F64, 2, 0, reverse_columns, 1, {{"hd", 32}}},
    {39, PKB_F64, 2, 0, reverse_columns, 1, {{"hd", 32}, {"variant", 1}}},
    {40, PKB_F64, 1, 0, reverse_rows, 1, {{"Bt", 4096}}},
    {41, PKB_F64, 1, 0, reverse_rows, 1, {{"n_total", 2048}}},
    {42, PKB_F64, 2, 1, reverse_rows, 1, {{"n_total", 2048}}},
    {42, PKB_F32, 2, 1, reverse_rows, 1, {{"n_total", 2048}}},
    {47, PKB_F64, 1, 0, reverse_rows, 1, {{"n_total", 2048}}},
};

static void other_orders_and_roundings_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(otherwise_rows) / sizeof(otherwise_rows[0]); i++) {
        const struct otherwise_row *row = &otherwise_rows[i];
        int dtype = row->change == widen ? PKB_F64 : row->dtype;
        struct evaluation *list[] = {evaluation_of(row->id, row->dtype, row->world, row->sizes, (uint32_t)row->trial),
                                     evaluation_of(row->id, dtype, row->world, row->sizes, (uint32_t)row->trial)};
        shrink(list[0], row->factor);
        for (int r = 0; r < row->world; r++) {
            memcpy(list[1]->ranks[r].set.params, list[0]->ranks[r].set.params, sizeof(list[0]->ranks[r].set.params));
            row->change(&list[1]->ranks[r], &list[0]->ranks[r]);
        }
        run(list, 2);
        int k = refused(list[0], list[1]);
        if (k >= 0)
            fail_msg("row %zu, problem %d: output %s is refused", i, row->id, list[0]->ranks[0].outputs[k].name);
        evaluation_destroy(list[0]);
        evaluation_destroy(list[1]);
    }
}

/* ---- inputs that are not looked at ---------------------------------------------------------------------------------- */

static int find_input(const struct evaluation_rank *rank, const char *name)
{
    for (int i = 0; i < rank->n_in; i++) {
        if (strcmp(rank->inputs[i].name, name) == 0)
            return i;
    }
    fail_msg("no input %s", name);
    return 0;
}

/* The problem with one input zero on all ranks. */
struct ignored_row {
    int id, dtype, world;
    const char *input;
    struct size sizes[5];
};

static const struct ignored_row ignored_rows[] = {
    {19, PKB_BF16, 1, "x", {{"M", 1}, {"N", 128}}},
    {23, PKB_BF16, 2, "grad_loss_sum", {{NULL}}},
    {23, PKB_F16, 3, "grad_loss_sum", {{NULL}}},
    {40, PKB_BF16, 2, "y", {{NULL}}},
    {41, PKB_BF16, 2, "y", {{"n_total", 256}, {"d_in", 64}, {"d_hid", 128}, {"d_out", 64}}},
    {42, PKB_F16, 4, "y", {{"n_total", 256}, {"d_in", 64}, {"d_hid", 128}, {"d_out", 64}}},
    {47, PKB_BF16, 2, "y", {{"n_total", 256}, {"d_in", 64}, {"d_hid", 128}, {"d_out", 64}}},
    {48, PKB_BF16, 4, "W2s", {{NULL}}},
};

static void ignored_inputs_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ignored_rows) / sizeof(ignored_rows[0]); i++) {
        const struct ignored_row *row = &ignored_rows[i];
        for (uint32_t t = 0; t < TRIALS; t++) {
            struct evaluation *list[] = {evaluation_of(row->id, row->dtype, row->world, row->sizes, t),
                                         evaluation_of(row->id, row->dtype, row->world, row->sizes, t)};
            for (int r = 0; r < row->world; r++) {
                pkb_tensor *in = &list[1]->ranks[r].set.in[find_input(&list[1]->ranks[r], row->input)];
                memset(in->data, 0, evaluation_bytes(in));
            }
            run(list, 2);
            if (refused(list[0], list[1]) < 0)
                fail_msg("row %zu, problem %d, trial %u: %s may be anything", i, row->id, t, row->input);
            evaluation_destroy(list[0]);
            evaluation_destroy(list[1]);
        }
    }
}

/* ---- what fillers make ---------------------------------------------------------------------------------------------- */

/* The loss of a rank without tokens is not a number (problem 23). */
static bool may_be_infinite(const struct evaluation_rank *rank, int i)
{
    return rank->setting.problem->id == 23 && strcmp(rank->inputs[i].name, "loss") == 0;
}

static void check_range(const struct evaluation_rank *rank)
{
    for (int i = 0; i < rank->n_in; i++) {
        const pkb_tensor *t = &rank->set.in[i];
        for (size_t j = 0; dtype_is_float(t->dtype) && !may_be_infinite(rank, i) && j < numel(t); j++) {
            if (!isfinite(evaluation_element(t, j)))
                fail_msg("%s, %s, trial %u: input %s[%zu] is %g", rank->setting.problem->name, dtype_name(t->dtype),
                         rank->set.trial, rank->inputs[i].name, j, evaluation_element(t, j));
        }
    }
}

static void inputs_are_finite(void **state)
{
    (void)state;
    static const struct size none[] = {{NULL}};
    for (const struct problem *const *p = problem_registry; *p; p++) {
        struct problem_setting s;
        problem_setting_init(&s, *p, SHAPE_TINY, PKB_F16, 0, 4);
        for (uint32_t t = 0; t < 40 && problem_setting_check(&s, NULL) == 0; t++) {
            struct evaluation *e = evaluation_of((*p)->id, PKB_F16, 4, none, t);
            for (int r = 0; r < e->world; r++)
                check_range(&e->ranks[r]);
            evaluation_destroy(e);
        }
    }
}

/* Sizes whose reference would be infinite. */
static void what_f16_cannot_hold_is_refused(void **state)
{
    (void)state;
    static const struct {
        int id, dtype, world;
        enum problem_shape shape;
        enum problem_profile inputs;
        bool possible;
    } rows[] = {
        {23, PKB_F16, 8, SHAPE_PAPER, PROFILE_HARDENED, true}, {23, PKB_F16, 1, SHAPE_PAPER, PROFILE_PKB, false},
        {25, PKB_F16, 4, SHAPE_PAPER, PROFILE_HARDENED, true}, {25, PKB_F16, 8, SHAPE_PAPER, PROFILE_HARDENED, false},
        {25, PKB_F16, 1, SHAPE_PAPER, PROFILE_PKB, false},     {25, PKB_BF16, 8, SHAPE_PAPER, PROFILE_PKB, true},
        {32, PKB_F16, 8, SHAPE_PAPER, PROFILE_HARDENED, true}, {32, PKB_F16, 8, SHAPE_PAPER, PROFILE_PKB, false},
        {32, PKB_F16, 2, SHAPE_TINY, PROFILE_PKB, true},       {32, PKB_F32, 8, SHAPE_PAPER, PROFILE_PKB, true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct problem_setting s;
        struct pkb_error err = {""};
        problem_setting_init(&s, problem_by_id(rows[i].id), rows[i].shape, rows[i].dtype, 0, rows[i].world);
        s.inputs = rows[i].inputs;
        int rc = problem_setting_check(&s, &err);
        if (rows[i].possible ? rc != 0 : rc != -1 || !strstr(err.text, "infinite"))
            fail_msg("row %zu, problem %d: %d, '%s'", i, rows[i].id, rc, err.text);
    }
}

/* The published rates of the optimizers, in every set of the pkb profile. */
static void published_rates_are_published(void **state)
{
    (void)state;
    static const struct {
        int id;
        const char *name;
        double value;
    } rows[] = {{40, "lr", 1e-3}, {41, "lr", 1e-3}, {42, "lr", 1e-3}, {43, "lr", 1e-3}, {47, "lr", 1e-3}, {47, "wd", 1e-2}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct problem_setting s;
        problem_setting_init(&s, problem_by_id(rows[i].id), SHAPE_TINY, PKB_BF16, 0, 4);
        s.inputs = PROFILE_PKB;
        struct evaluation *e = evaluation_or_fail(&s);
        evaluation_init(e, 1);
        memcpy(s.params, e->ranks[3].set.params, sizeof(s.params));
        if (fabs(problem_real(&s, rows[i].name) - rows[i].value) > 1e-12)
            fail_msg("problem %d: %s = %g", rows[i].id, rows[i].name, problem_real(&s, rows[i].name));
        evaluation_destroy(e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_orders_and_roundings_pass),
        cmocka_unit_test(ignored_inputs_are_noticed),
        cmocka_unit_test(inputs_are_finite),
        cmocka_unit_test(what_f16_cannot_hold_is_refused),
        cmocka_unit_test(published_rates_are_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
