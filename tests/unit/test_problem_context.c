/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences split over ranks: settings and costs, and roundings that attention may make. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "problems/kit.h"
#include "tests/support/evaluate_or_fail.h"
#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {17, PKB_BF16, 16, 17, NULL, 0, NULL},
    {17, PKB_BF16, 0, 2, "D", 7, "D = 7 is not even"},
    {33, PKB_F64, 2, 3, NULL, 0, NULL},
    {33, PKB_BF16, 0, 5, NULL, 0, "M = 48 is not divisible by 5 ranks"},
    {34, PKB_F32, 6, 7, NULL, 0, NULL},
    {34, PKB_BF16, 0, 2, "N", 0, "output y has no elements"},
    {35, PKB_F16, 2, 3, "M", 1, NULL},
    {35, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {36, PKB_BF16, 0, 2, "U", 9, NULL},
    {36, PKB_BF16, 0, 3, NULL, 0, "nh = 8 is not divisible by 3 ranks"},
    {36, PKB_BF16, 0, 2, "U", 11, "U = 11 is more than the 10 positions"},
    {37, PKB_BF16, 10, 11, NULL, 0, NULL},
    {37, PKB_BF16, 0, 2, "S", 0, "output y has no elements"},
    {38, PKB_F32, 3, 4, "U", 19, NULL},
    {38, PKB_BF16, 0, 3, NULL, 0, "nh = 8 is not divisible by 3 ranks"},
    {38, PKB_BF16, 0, 4, "U", 21, "U = 21 is more than the 20 positions"},
    {39, PKB_BF16, 3, 4, "variant", 0, NULL},
    {39, PKB_BF16, 0, 2, "variant", 2, "variant = 2 is neither 0 nor 1"},
    {39, PKB_BF16, 0, 5, NULL, 0, "nh = 8 is not divisible by 5 ranks"},
    {54, PKB_F32, 16, 17, "causal", 0, NULL},
    {54, PKB_BF16, 0, 2, "H", 0, "output out has no elements"},
    {55, PKB_BF16, 5, 6, NULL, 0, NULL},
    {55, PKB_BF16, 0, 1, "H", 3, NULL},
    {55, PKB_BF16, 0, 3, NULL, 0, "3 ranks do not form pairs"},
    {55, PKB_BF16, 0, 2, "H", 3, "H = 3 is not divisible by 2"},
    {56, PKB_F64, 9, 10, NULL, 0, NULL},
    {56, PKB_BF16, 0, 5, NULL, 0, "5 ranks do not form pairs"},
    {57, PKB_F16, 2, 4, "causal", 1, NULL},
    {57, PKB_BF16, 0, 7, NULL, 0, "7 ranks do not form pairs"},
    {71, PKB_BF16, 4, 5, "k", 17, NULL},
    {71, PKB_BF16, 0, 2, "k", 1, "k = 1 is less than 2"},
    {71, PKB_BF16, 0, 2, "k", 18, "k = 18 needs more than the L = 16 positions"},
    {72, PKB_F32, 7, 8, "gd", 3, NULL},
    {72, PKB_BF16, 0, 3, NULL, 0, "G = 8 is not divisible by 3 ranks"},
    {72, PKB_BF16, 0, 2, "S", 15, "S = 15 is not even"},
    {72, PKB_BF16, 0, 2, "FL", 0, "FL = 0 is less than 1"},
    {74, PKB_F64, 4, 5, NULL, 0, NULL},
    {74, PKB_BF16, 0, 2, "V", 0, "output out has no elements"},
    {75, PKB_F16, 10, 11, "rep", 1, NULL},
    {75, PKB_BF16, 0, 2, "rep", 0, "output out has no elements"},
    {77, PKB_BF16, 16, 17, NULL, 0, NULL},
    {77, PKB_BF16, 3, 4, "Hkv0", 1, NULL},
    {77, PKB_BF16, 0, 2, "Hq0", 6, "a rank's 3 query heads are not divisible by its 4 key-value heads"},
    {77, PKB_BF16, 0, 2, "cp_shuffle_num", 0, "output out has no elements"},
};

static const struct cost_row cost_rows[] = {
    {17, 0, 2, 6144, 12800, 4096},    {17, 3, 4, 3072, 10496, 6144},   {33, 0, 2, 0, 7680, 1920},
    {33, 3, 4, 0, 7680, 2880},        {34, 0, 2, 0, 2880, 960},        {34, 3, 4, 0, 4800, 2880},
    {35, 0, 2, 0, 918, 322},          {35, 3, 4, 0, 1785, 1119},       {36, 0, 2, 0, 2560, 640},
    {36, 3, 4, 0, 2560, 960},         {37, 0, 2, 0, 5120, 1280},       {37, 3, 4, 0, 5632, 2304},
    {38, 0, 2, 0, 7680, 1920},        {38, 3, 4, 0, 7680, 2880},       {54, 0, 2, 9216, 4096, 2048},
    {54, 3, 4, 14848, 8192, 0},       {55, 0, 2, 148480, 16384, 2048}, {55, 3, 4, 78336, 12288, 1024},
    {56, 0, 2, 296960, 28672, 2048},  {56, 3, 4, 156672, 22528, 0},    {57, 0, 2, 165888, 16640, 6144},
    {39, 0, 2, 540672, 36864, 0},     {39, 3, 4, 266240, 34816, 0},    {72, 0, 2, 21760, 4360, 512},
    {72, 3, 4, 24960, 4228, 768},     {74, 0, 2, 31744, 4880, 2368},   {74, 3, 4, 31744, 4880, 3136},
    {75, 0, 2, 24064, 2832, 1408},    {75, 3, 4, 24064, 2824, 2112},   {77, 0, 2, 512512, 71680, 14336},
    {77, 3, 4, 292864, 40960, 18432}, {57, 3, 4, 82944, 20608, 9216},  {71, 0, 2, 7168, 2160, 192},
    {71, 2, 4, 7168, 2160, 384},
};

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

/* ---- 57 on tensor cores, which take operands of T -------------------------------------------------------------------- */

enum { DOUT, Q, K, V, OUT, LSE, INPUTS };
enum { DQ, DK, DV, GRADIENTS };

/* A rank's inputs, and its gradients before the average: (batch, position, head, feature). */
struct gradients {
    int dtype;
    int64_t batch, positions, heads, width;
    double *in[INPUTS], *out[GRADIENTS];
};

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(double *sum, double factor, const double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] += factor * a[i];
}

/* Query i and key j of a head, whose numbers begin at `base`, the next position's `step` further on. */
static void add_pair(const struct gradients *g, size_t base, double lse, int64_t i, int64_t j)
{
    int64_t n = g->width;
    size_t step = (size_t)(g->heads * n), a = base + (size_t)i * step, b = base + (size_t)j * step;
    double scale = 1 / sqrt((double)n), p = exp(scale * dot(g->in[Q] + a, g->in[K] + b, n) - lse);
    double ds = p * (dot(g->in[DOUT] + a, g->in[V] + b, n) - dot(g->in[DOUT] + a, g->in[OUT] + a, n));
    add(g->out[DQ] + a, scale * kit_rounded(g->dtype, ds), g->in[K] + b, n);
    add(g->out[DK] + b, scale * kit_rounded(g->dtype, ds), g->in[Q] + a, n);
    add(g->out[DV] + b, kit_rounded(g->dtype, p), g->in[DOUT] + a, n);
}

static void add_pairs(const struct gradients *g)
{
    for (int64_t head = 0; head < g->batch * g->heads; head++) {
        int64_t batch = head / g->heads, h = head % g->heads;
        size_t base = (size_t)((batch * g->positions * g->heads + h) * g->width);
        for (int64_t i = 0; i < g->positions; i++) {
            for (int64_t j = 0; j <= i; j++)
                add_pair(g, base, g->in[LSE][head * g->positions + i], i, j);
        }
    }
}

static struct gradients gradients_of(const struct evaluation_rank *rank)
{
    const pkb_tensor *q = &rank->set.in[Q];
    struct gradients g = {q->dtype, q->shape[0], q->shape[1], q->shape[2], q->shape[3], {NULL}, {NULL}};
    for (int i = 0; i < INPUTS; i++) {
        g.in[i] = kit_scratch(kit_numel(&rank->set.in[i]));
        dtype_to_f64(rank->set.in[i].dtype, g.in[i], rank->set.in[i].data, kit_numel(&rank->set.in[i]));
    }
    for (int k = 0; k < GRADIENTS; k++)
        g.out[k] = kit_scratch(kit_numel(q));
    add_pairs(&g);
    return g;
}

static void free_gradients(const struct gradients *g)
{
    for (int i = 0; i < INPUTS; i++)
        free(g->in[i]);
    for (int k = 0; k < GRADIENTS; k++)
        free(g->out[k]);
}

/* The mean over two replicas of a gradient. */
static void check_mean(const struct evaluation *e, const struct gradients *g, int k)
{
    struct problem_difference d;
    pkb_tensor out[GRADIENTS];
    size_t n = kit_numel(&e->ranks[0].out[k]), width = dtype_size(g->dtype);
    for (int i = 0; i < GRADIENTS; i++)
        out[i] = e->ranks[0].out[i];
    out[k].data = calloc(n, width);
    assert_non_null(out[k].data);
    for (size_t i = 0; i < n; i++) {
        double sum = kit_rounded(g->dtype, kit_rounded(g->dtype, g[0].out[k][i]) + kit_rounded(g->dtype, g[1].out[k][i])) / 2;
        dtype_from_f64(g->dtype, (char *)out[k].data + i * width, &sum, 1);
    }
    evaluation_compare(e, 0, out, k, &d);
    if (!d.ok)
        fail_msg("%s, output %d: %lld elements are refused", dtype_name(g->dtype), k, (long long)d.wrong);
    free(out[k].data);
}

static void check_gradients(int dtype)
{
    static const struct {
        const char *name;
        double value;
    } sizes[] = {{"B", 16}, {"H", 8}, {"D", 64}, {"causal", 1}};
    struct problem_setting s;
    struct pkb_error err = {""};
    problem_setting_init(&s, problem_by_id(57), SHAPE_TINY, dtype, 0, 2);
    for (int i = 0; i < KIT_COUNT(sizes); i++)
        assert_int_equal(problem_setting_override(&s, sizes[i].name, sizes[i].value, &err), 0);
    struct evaluation *e = evaluation_or_fail(&s);
    evaluation_init(e, 1);
    if (evaluation_run(&e, 1, &err) < 0)
        fail_msg("%s", err.text);
    const struct gradients g[] = {gradients_of(&e->ranks[0]), gradients_of(&e->ranks[1])};
    for (int k = 0; k < GRADIENTS; k++)
        check_mean(e, g, k);
    free_gradients(&g[0]);
    free_gradients(&g[1]);
    evaluation_destroy(e);
}

static void probabilities_may_be_rounded(void **state)
{
    (void)state;
    check_gradients(PKB_BF16);
    check_gradients(PKB_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBLEM_ROWS_TESTS(&rows_of_problems),
        cmocka_unit_test(probabilities_may_be_rounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
