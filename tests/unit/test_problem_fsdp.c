/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps and what they consist of (gradients, clipping, optimizers, sharded parameters): settings, costs, and that results which
 * are nearly right do not pass. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/kit.h"
#include "tests/support/evaluate_or_fail.h"
#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {9, PKB_F16, 4, 5, NULL, 0, NULL},
    {9, PKB_BF16, 0, 300, NULL, 0, NULL},
    {9, PKB_BF16, 0, 2, "B", 0, "B = 0 is less than 1"},
    {9, PKB_BF16, 0, 2, "H", 0, "output d_gamma has no elements"},
    {21, PKB_F64, 2, 3, "G", 8, NULL},
    {21, PKB_BF16, 0, 2, "G", 9, "G = 9 is more than 8"},
    {21, PKB_BF16, 0, 2, "G", 0, "G = 0 is less than 1"},
    {21, PKB_BF16, 0, 2, "max_norm", 0, "max_norm = 0 is not a positive number of f32"},
    {21, PKB_BF16, 0, 2, "max_norm", 1e39, "is not a positive number of f32"},
    {22, PKB_BF16, 4, 5, NULL, 0, NULL},
    {22, PKB_BF16, 5, 6, "ep_size", 6, NULL},
    {22, PKB_BF16, 0, 2, "ep_size", 3, "ep_size = 3 is more than the 2 ranks"},
    {22, PKB_BF16, 0, 2, "max_norm", -1, "max_norm = -1 is not a positive number"},
    {23, PKB_F16, 0, 64, NULL, 0, NULL},
    {23, PKB_BF16, 0, 2, "N", 0, "N = 0 is less than 1"},
    {23, PKB_BF16, 0, 1024, "M", 1e12, "must be less than 2^53"},
    {40, PKB_BF16, 6, 7, NULL, 0, NULL},
    {40, PKB_F16, 0, 2, NULL, 0, "dtype f16: second moments underflow"},
    {40, PKB_BF16, 0, 2, "hid", 0, "hid = 0 is less than 1"},
    {40, PKB_BF16, 0, 2, "b1", 1.5, "b1 = 1.5 is not in [0, 1)"},
    {41, PKB_BF16, 2, 3, NULL, 0, NULL},
    {41, PKB_F32, 0, 2, "d_hid", 7, NULL},
    {41, PKB_BF16, 0, 2, "n_total", 0, "n_total = 0 is less than 1"},
    {41, PKB_BF16, 0, 2, "d_out", 1e9, "d_out = 1000000000 is more than 1048576"},
    {41, PKB_BF16, 0, 3, "d_in", 256, NULL},
    {41, PKB_BF16, 0, 3, "d_in", 18, "d_hid = 32 to 1055: the number of parameters is never divisible by 3 ranks"},
    {42, PKB_BF16, 0, 2, "d_hid", 0, "d_hid = 0 is less than 1"},
    {42, PKB_BF16, 0, 2, "eps", -1, "eps = -1 is not positive"},
    {43, PKB_F16, 2, 3, "step", 7, NULL},
    {43, PKB_BF16, 0, 2, "step", 0, "step = 0 is less than 1"},
    {43, PKB_BF16, 0, 2, "beta1", 1, "beta1 = 1 is not in [0, 1)"},
    {43, PKB_BF16, 0, 2, "beta2", -0.5, "beta2 = -0.5 is not in [0, 1)"},
    {43, PKB_BF16, 0, 2, "eps", 0, "eps = 0 is not positive"},
    {44, PKB_F64, 2, 3, "n", 7, NULL},
    {44, PKB_BF16, 0, 2, "bs", 0, "bs = 0 is less than 1"},
    {44, PKB_BF16, 0, 2, "n", 0, "output avg has no elements"},
    {45, PKB_BF16, 4, 5, "M", 0, NULL},
    {45, PKB_BF16, 0, 2, "hidden", 0, "hidden = 0 is less than 1"},
    {45, PKB_BF16, 0, 2, "eps", 0, "eps = 0 is not between 0 and 1"},
    {47, PKB_F16, 3, 17, NULL, 0, NULL},
    {47, PKB_BF16, 0, 3, "d_in", 18, "is never divisible by 3 ranks"},
    {47, PKB_BF16, 0, 2, "step", 0, "step = 0 is less than 1"},
    {48, PKB_BF16, 16, 17, NULL, 0, NULL},
    {48, PKB_BF16, 5, 6, "n_tp", 3, NULL},
    {48, PKB_BF16, 0, 6, "n_tp", 4, "n_tp = 4 and n_fsdp = 0 do not make a grid of 6 ranks"},
    {48, PKB_BF16, 0, 6, "n_fsdp", 6, "n_tp = 0 and n_fsdp = 6 do not make a grid of 6 ranks"},
    {48, PKB_BF16, 0, 2, "D", 0, "D = 0 is less than 1"},
    {48, PKB_BF16, 0, 2, "F", 0, "F = 0 is less than 1"},
    {48, PKB_BF16, 0, 2, "rows", 0, "output y has no elements"},
    {52, PKB_F64, 4, 5, "hl", 1, NULL},
    {52, PKB_BF16, 0, 2, "hl", 0, "hl = 0 is less than 1"},
    {52, PKB_BF16, 0, 2, "p", 0, "output shard has no elements"},
    {53, PKB_BF16, 0, 2, "hl", 0, "hl = 0 is less than 1"},
    {63, PKB_BF16, 4, 5, "lambda", 1, NULL},
    {63, PKB_BF16, 0, 2, "lambda", 0, "lambda = 0 is not in (0, 1]"},
    {63, PKB_BF16, 0, 2, "n", 0, "n = 0 is less than 1"},
    {63, PKB_BF16, 0, 2, "nb", 0, "output weights_all has no elements"},
    {86, PKB_F32, 6, 7, "pdim", 0, NULL},
    {86, PKB_BF16, 0, 2, "steps", 10, NULL},
    {86, PKB_BF16, 0, 2, "steps", 6, "steps = 6 is not a multiple of the set's 5 triples"},
    {86, PKB_BF16, 0, 2, "steps", 0, "steps = 0 is not a multiple"},
    {86, PKB_BF16, 0, 2, "type", 4, "type = 4 is none of the 4 coefficient sets"},
    {86, PKB_BF16, 0, 2, "pdim", 2, "pdim = 2 is neither 0 nor 1"},
};

static const struct cost_row cost_rows[] = {
    {9, 0, 2, 10440, 14112, 288},
    {9, 0, 4, 10476, 14112, 432},
    {21, 0, 2, 17280, 23040, 4},
    {21, 3, 4, 17280, 23040, 12},
    {22, 0, 2, 13440, 15360, 8},
    {22, 3, 4, 13440, 15360, 24},
    {23, 0, 2, 10, 28, 2},
    {23, 3, 4, 10, 28, 6},
    {40, 0, 2, 310432, 34688, 15808},
    {40, 1, 2, 310432, 22832, 3952},
    {40, 0, 4, 167072, 33152, 17784},
    {40, 3, 4, 167072, 21296, 5928},
    {41, 0, 2, 63000, 12512, 3232},
    {42, 0, 2, 63000, 12512, 3232},
    {41, 1, 2, 63000, 12512, 1616},
    {42, 1, 2, 63000, 12512, 1616},
    {41, 0, 4, 31500, 9488, 4040},
    {42, 0, 4, 31500, 9488, 4040},
    {41, 3, 4, 31500, 9488, 2424},
    {42, 3, 4, 31500, 9488, 2424},
    {43, 0, 2, 2800, 2400, 400},
    {43, 0, 4, 2800, 3200, 1200},
    {44, 0, 2, 9000, 6504, 1626},
    {44, 0, 4, 9000, 6504, 2439},
    {47, 0, 2, 64616, 14128, 1616},
    {47, 0, 4, 32308, 10296, 2424},
    {48, 0, 2, 52224, 7680, 1536},
    {48, 3, 4, 26112, 4352, 1280},
    {52, 0, 2, 1008, 1072, 76},
    {52, 0, 4, 2016, 1936, 228},
    {53, 0, 2, 1200, 2064, 204},
    {53, 0, 4, 1200, 3664, 612},
    {63, 0, 2, 15744, 52224, 776},
    {63, 0, 4, 15744, 53760, 2328},
    {86, 0, 2, 123648, 1024, 5124},
    {86, 0, 4, 82304, 512, 7686},
};

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

/* ---- nearly right --------------------------------------------------------------------------------------------------- */

#define TRIALS 3

/* Whether some output of some rank is refused. */
static bool refused(const struct evaluation *expected, const struct evaluation *actual)
{
    bool any = false;
    for (int r = 0; r < expected->world; r++) {
        for (int k = 0; k < expected->ranks[r].n_out; k++) {
            struct problem_difference d;
            evaluation_compare(expected, r, actual->ranks[r].out, k, &d);
            any = any || !d.ok;
        }
    }
    return any;
}

/* A program that takes another value than the parameter's. */
struct parameter_row {
    int id, world, dtype;
    const char *name;
    double factor, added; /* the other value: factor * value + added */
    int trial;            /* the only one in which it matters, or -1 */
};

static const struct parameter_row parameter_rows[] = {
    {21, 2, PKB_BF16, "max_norm", 1.03, 0, 2},   {22, 4, PKB_BF16, "ep_size", 0, 1, -1},
    {22, 4, PKB_F32, "max_norm", 1.00003, 0, 2}, {40, 2, PKB_BF16, "lr", 0.9, 0, -1},
    {40, 2, PKB_BF16, "step", 1, 1, -1},         {40, 4, PKB_BF16, "b2", 0, 0.99, -1},
    {41, 2, PKB_BF16, "beta1", 0, 0.88, -1},     {41, 4, PKB_F32, "eps", 0, 1e-3, -1},
    {42, 2, PKB_BF16, "step", 1, 1, -1},         {42, 2, PKB_F16, "lr", 0.95, 0, -1},
    {43, 2, PKB_BF16, "lr", 0.9, 0, -1},         {43, 2, PKB_F32, "lr", 0.9999, 0, -1},
    {44, 2, PKB_BF16, "bs", 0, 1, -1},           {44, 2, PKB_BF16, "bs", 0, 32, -1},
    {45, 2, PKB_BF16, "eps", 1.1, 0, -1},        {47, 2, PKB_BF16, "wd", 0.8, 0, -1},
    {47, 4, PKB_F32, "wd", 0.9999, 0, -1},       {47, 2, PKB_BF16, "beta2", 0, 0.99, -1},
    {63, 2, PKB_F32, "lambda", 1.0001, 0, -1},   {63, 2, PKB_F32, "nue", 1.0001, 0, -1},
    {86, 2, PKB_BF16, "steps", 2, 0, -1},        {86, 2, PKB_BF16, "type", 0, 0, -1},
};

static struct evaluation *with_parameter(const struct evaluation *of, const struct parameter_row *row)
{
    const struct problem_setting *s = &of->ranks[0].setting;
    struct evaluation *e = evaluation_tiny(row->id, row->dtype, row->world, of->ranks[0].set.trial);
    for (int q = 0; q < e->world; q++) {
        for (int i = 0; i < s->problem->n_params; i++) {
            if (strcmp(s->problem->params[i].name, row->name) != 0)
                continue;
            e->ranks[q].set.params[i] = row->factor * e->ranks[q].set.params[i] + row->added;
            e->ranks[q].setting.params[i] = e->ranks[q].set.params[i];
        }
    }
    return e;
}

static void other_parameters_do_not_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(parameter_rows) / sizeof(parameter_rows[0]); i++) {
        const struct parameter_row *row = &parameter_rows[i];
        struct evaluation *list[2 * TRIALS];
        struct pkb_error err = {""};
        for (int t = 0; t < TRIALS; t++) {
            list[2 * t] = evaluation_tiny(row->id, row->dtype, row->world, (uint32_t)t);
            list[2 * t + 1] = with_parameter(list[2 * t], row);
        }
        if (evaluation_run(list, 2 * TRIALS, &err) < 0)
            fail_msg("problem %d: %s", row->id, err.text);
        for (int t = 0; t < TRIALS; t++) {
            if ((row->trial < 0 || row->trial == t) && !refused(list[2 * t], list[2 * t + 1]))
                fail_msg("problem %d, trial %d: another %s passes", row->id, t, row->name);
        }
        for (int t = 0; t < 2 * TRIALS; t++)
            evaluation_destroy(list[t]);
    }
}

/* Element i of an input of a rank. */
static double input(const struct evaluation *e, int rank, int tensor, size_t i)
{
    return evaluation_element(&e->ranks[rank].set.in[tensor], i);
}

/* What a program that leaves the problem's own work out makes of element i of the first output. */
typedef double shortcut_fn(const struct evaluation *e, int rank, size_t i);

static double mean_of_inputs(const struct evaluation *e, int rank, size_t i)
{
    double sum = 0;
    size_t share =
        kit_numel(&e->ranks[0].set.in[0]) / kit_numel(&e->ranks[0].out[0]); /* chunks of the input: 1, or one per rank */
    size_t at = share > 1 ? (size_t)rank * kit_numel(&e->ranks[0].out[0]) + i : i;
    for (int q = 0; q < e->world; q++)
        sum += input(e, q, 0, at);
    return sum / e->world;
}

static double gathered_first(const struct evaluation *e, int rank, size_t i)
{
    (void)rank;
    size_t part = kit_numel(&e->ranks[0].set.in[0]);
    return input(e, (int)(i / part), 0, i % part);
}

static double gathered_parameters(const struct evaluation *e, int rank, size_t i)
{
    (void)rank;
    size_t part = kit_numel(&e->ranks[0].set.in[1]);
    return input(e, (int)(i / part), 1, i % part);
}

/* 45: RMS normalisation of a sum that was not divided by W. */
static double normalised_sum(const struct evaluation *e, int rank, size_t i)
{
    const pkb_tensor *y = &e->ranks[rank].out[0];
    size_t width = (size_t)y->shape[1], row = (size_t)rank * kit_numel(y) + i / width * width;
    double squares = 0, sum = 0;
    for (size_t j = 0; j < width; j++) {
        double of_ranks = 0;
        for (int q = 0; q < e->world; q++)
            of_ranks += input(e, q, 0, row + j);
        squares += of_ranks * of_ranks;
        sum = j == i % width ? of_ranks : sum;
    }
    return sum / sqrt(squares / (double)width + 1e-5) * input(e, rank, 1, i % width);
}

static double parameters_of_rank_0(const struct evaluation *e, int rank, size_t i)
{
    (void)rank;
    return input(e, 0, 2, i);
}

static double own_parameters(const struct evaluation *e, int rank, size_t i)
{
    return input(e, rank, 2, i);
}

struct shortcut_row {
    int id, world, dtype;
    const char *what;
    shortcut_fn *make;
};

static const struct shortcut_row shortcut_rows[] = {
    {40, 2, PKB_BF16, "the parameters before the step", parameters_of_rank_0},
    {41, 2, PKB_BF16, "the parameters before the step", parameters_of_rank_0},
    {42, 4, PKB_F16, "the parameters before the step", parameters_of_rank_0},
    {43, 2, PKB_BF16, "parameters that are gathered without the step", gathered_parameters},
    {44, 2, PKB_BF16, "a mean without integers", mean_of_inputs},
    {44, 8, PKB_BF16, "a mean without integers", mean_of_inputs},
    {45, 2, PKB_BF16, "rows of a sum without the division", normalised_sum},
    {45, 8, PKB_BF16, "rows of a sum without the division", normalised_sum},
    {47, 2, PKB_BF16, "the parameters before the step", own_parameters},
    {52, 1, PKB_BF16, "a mean without FP8", mean_of_inputs},
    {52, 8, PKB_BF16, "a mean without FP8", mean_of_inputs},
    {53, 1, PKB_BF16, "parameters without FP8", gathered_first},
    {53, 4, PKB_F32, "parameters without FP8", gathered_first},
};

/* Whether the shortcut's first output is refused on some rank, the other outputs being right. */
static bool shortcut_refused(const struct evaluation *e, shortcut_fn *make)
{
    bool any = false;
    for (int r = 0; r < e->world; r++) {
        pkb_tensor out[PROBLEM_MAX_TENSORS];
        struct problem_difference d;
        memcpy(out, e->ranks[r].out, sizeof(out));
        size_t n = kit_numel(&out[0]), width = dtype_size(out[0].dtype);
        out[0].data = calloc(n, width);
        assert_non_null(out[0].data);
        for (size_t i = 0; i < n; i++) {
            double value = make(e, r, i);
            dtype_from_f64(out[0].dtype, (char *)out[0].data + i * width, &value, 1);
        }
        evaluation_compare(e, r, out, 0, &d);
        any = any || !d.ok;
        free(out[0].data);
    }
    return any;
}

static void shortcuts_do_not_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shortcut_rows) / sizeof(shortcut_rows[0]); i++) {
        const struct shortcut_row *row = &shortcut_rows[i];
        struct pkb_error err = {""};
        for (uint32_t t = 0; t < TRIALS; t++) {
            struct evaluation *e = evaluation_tiny(row->id, row->dtype, row->world, t);
            if (evaluation_run(&e, 1, &err) < 0)
                fail_msg("problem %d: %s", row->id, err.text);
            if (!shortcut_refused(e, row->make))
                fail_msg("problem %d with %d ranks, trial %u: %s pass", row->id, row->world, t, row->what);
            evaluation_destroy(e);
        }
    }
}

/* ---- ties ----------------------------------------------------------------------------------------------------------- */

/* 53: no bound leaves room for a quotient that might be rounded either way. (52 has inputs of the same filler.) */
static void check_no_ties(int dtype, uint32_t trial)
{
    struct pkb_error err = {""};
    struct evaluation *e = evaluation_tiny(53, dtype, 8, trial);
    double share = 2 * dtype_roundoff(dtype) + ldexp(1, -22), step = kit_least_step(&e->ranks[0].setting);
    if (evaluation_run(&e, 1, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < kit_numel(&e->ranks[0].out[0]); i++) {
        double expected = share * fabs(evaluation_element(&e->ranks[0].out[0], i)) + step;
        if ((double)e->ranks[0].tol[0][i] > 1.001 * expected)
            fail_msg("%s, trial %u, element %zu: %g may be %g off", dtype_name(dtype), trial, i,
                     evaluation_element(&e->ranks[0].out[0], i), (double)e->ranks[0].tol[0][i]);
    }
    evaluation_destroy(e);
}

static void inputs_have_no_ties(void **state)
{
    (void)state;
    static const int dtypes[] = {PKB_BF16, PKB_F16, PKB_F32, PKB_F64};
    for (uint32_t i = 0; i < 24; i++)
        check_no_ties(dtypes[i % 4], i / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBLEM_ROWS_TESTS(&rows_of_problems),
        cmocka_unit_test(inputs_have_no_ties),
        cmocka_unit_test(other_parameters_do_not_pass),
        cmocka_unit_test(shortcuts_do_not_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
