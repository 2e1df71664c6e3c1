/* SPDX-License-Identifier: Apache-2.0 */
/* pass@k: hand values, all subsets counted for small n, and what is unknown. With --table, prints "n c k value" lines that
 * test_metrics_exact compares with exact fractions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "results/metrics.h"

static void assert_close(double got, double want)
{
    if (!(fabs(got - want) <= 1e-14))
        fail_msg("%.17g, expected %.17g", got, want);
}

static void test_hand_values(void **state)
{
    (void)state;
    static const struct {
        int64_t n, c, k;
        double want;
    } rows[] = {
        {1, 0, 1, 0},       {1, 1, 1, 1},          {3, 1, 1, 1.0 / 3},    {3, 1, 2, 2.0 / 3},      {3, 1, 3, 1},
        {3, 0, 3, 0},       {3, 2, 2, 1},          {10, 3, 5, 11.0 / 12}, {4, 2, 2, 5.0 / 6},      {5, 2, 3, 0.9},
        {200, 1, 100, 0.5}, {1000000, 1, 1, 1e-6}, {100, 50, 1, 0.5},     {2, 1, 1, 0.5},          {0, 0, 1, -1},
        {3, 1, 4, -1},      {3, 4, 1, -1},         {3, -1, 1, -1},        {3, 1, 0, -1},           {-1, 0, 1, -1},
        {3, 1, -2, -1},     {5, 5, 6, -1},         {1000000, 0, 10, 0},   {1000000, 999999, 2, 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_close(metrics_pass_at_k(rows[i].n, rows[i].c, rows[i].k), rows[i].want);
}

/* Of all subsets of size k, the share that holds a good sample (the first c are good). */
static double by_counting(int n, int c, int k)
{
    int all = 0, with_good = 0;
    for (unsigned set = 0; set < 1u << n; set++) {
        if (__builtin_popcount(set) != k)
            continue;
        all++;
        with_good += (set & ((1u << c) - 1)) != 0;
    }
    return (double)with_good / all;
}

static void test_all_subsets(void **state)
{
    (void)state;
    for (int n = 1; n <= 10; n++)
        for (int c = 0; c <= n; c++)
            for (int k = 1; k <= n; k++)
                assert_close(metrics_pass_at_k(n, c, k), by_counting(n, c, k));
}

static struct metrics_sample sample(int number, int outcome, double speedup)
{
    return (struct metrics_sample){.number = number, .outcome = outcome, .timed = speedup > 0, .speedup = speedup};
}

struct expect_at {
    int64_t solved, failed, undecided, absent, counted, short_of_k;
    double sum;
};

static void check_at(const struct metrics_at_k *m, const struct expect_at *e, const char *what, int k)
{
    if (m->solved != e->solved || m->failed != e->failed || m->undecided != e->undecided || m->absent != e->absent ||
        m->counted != e->counted || m->short_of_k != e->short_of_k || fabs(m->sum - e->sum) > 1e-12)
        fail_msg("%s@%d: solved %lld failed %lld undecided %lld absent %lld counted %lld short %lld sum %g", what, k,
                 (long long)m->solved, (long long)m->failed, (long long)m->undecided, (long long)m->absent, (long long)m->counted,
                 (long long)m->short_of_k, m->sum);
}

#define GOOD OUTCOME_CORRECT
#define WRONG OUTCOME_VALUE_MISMATCH
#define INFRA OUTCOME_INFRA_ERROR
#define NONE (-1)

/* One task each: three samples, and what must come of them at k = 1, 2, 3. */
static const struct {
    const char *name;
    int n;
    struct {
        int outcome;
        double speedup;
    } samples[3];
    struct expect_at pass[3], fast[3];
} tasks[] = {
    {"all fail",
     3,
     {{WRONG, 0}, {OUTCOME_CRASH, 0}, {OUTCOME_COMPILE_ERROR, 0}},
     {{0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}},
     {{0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}}},
    {"second is right and slow",
     3,
     {{WRONG, 0}, {GOOD, 0.5}, {WRONG, 0}},
     {{0, 1, 0, 0, 1, 0, 1.0 / 3}, {1, 0, 0, 0, 1, 0, 2.0 / 3}, {1, 0, 0, 0, 1, 0, 1}},
     {{0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}, {0, 1, 0, 0, 1, 0, 0}}},
    {"as fast as the reference is not fast",
     1,
     {{GOOD, 1}},
     {{1, 0, 0, 0, 1, 0, 1}, {1, 0, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 0, 1, 0}},
     {{0, 1, 0, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 1, 0}, {0, 0, 0, 1, 0, 1, 0}}},
    {"first missing, second fails, third fast",
     3,
     {{NONE, 0}, {WRONG, 0}, {GOOD, 2}},
     {{0, 0, 1, 0, 1, 0, 0.5}, {0, 0, 1, 0, 1, 0, 1}, {1, 0, 0, 0, 0, 1, 0}},
     {{0, 0, 1, 0, 1, 0, 0.5}, {0, 0, 1, 0, 1, 0, 1}, {1, 0, 0, 0, 0, 1, 0}}},
    {"infra and not run are unknown",
     3,
     {{INFRA, 0}, {OUTCOME_NOT_RUN, 0}, {WRONG, 0}},
     {{0, 0, 1, 0, 1, 0, 0}, {0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}},
     {{0, 0, 1, 0, 1, 0, 0}, {0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}}},
    {"correct without times",
     2,
     {{GOOD, 0}, {WRONG, 0}},
     {{1, 0, 0, 0, 1, 0, 0.5}, {1, 0, 0, 0, 1, 0, 1}, {1, 0, 0, 0, 0, 1, 0}},
     {{0, 0, 1, 0, 1, 0, 0}, {0, 0, 1, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 1, 0}}},
    {"nothing at all",
     3,
     {{NONE, 0}, {NONE, 0}, {NONE, 0}},
     {{0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}},
     {{0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}, {0, 0, 1, 0, 0, 1, 0}}},
};

static void test_tasks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
        struct metrics m;
        struct metrics_sample samples[3];
        for (int s = 0; s < tasks[i].n; s++)
            samples[s] = sample(s + 1, tasks[i].samples[s].outcome, tasks[i].samples[s].speedup);
        assert_int_equal(metrics_init(&m, 3, 1, NULL), 0);
        metrics_add_task(&m, samples, tasks[i].n);
        for (int k = 1; k <= 3; k++) {
            check_at(&m.pass[k - 1], &tasks[i].pass[k - 1], tasks[i].name, k);
            check_at(&m.fast[k - 1], &tasks[i].fast[k - 1], tasks[i].name, k);
        }
        assert_int_equal(m.known + m.unknown, tasks[i].n);
        metrics_clear(&m);
    }
}

/* Every task is in exactly one of the counts, and in exactly one of the estimate's columns; all cells are accounted for. */
static void test_sums(void **state)
{
    (void)state;
    struct metrics m;
    unsigned seed = 99;
    assert_int_equal(metrics_init(&m, 6, 1.5, NULL), 0);
    for (int t = 0; t < 500; t++) {
        struct metrics_sample samples[6];
        int n = 1 + t % 6;
        for (int s = 0; s < n; s++) {
            seed = seed * 1103515245u + 12345u;
            int outcome = (int)(seed >> 16) % (OUTCOME_COUNT + 1) - 1;
            samples[s] = sample(s + 1, outcome, (seed >> 8) % 4 * 0.75);
        }
        metrics_add_task(&m, samples, n);
    }
    int64_t cells = m.missing;
    for (int o = 0; o < OUTCOME_COUNT; o++)
        cells += m.outcome[o];
    assert_int_equal(cells, m.cells);
    assert_int_equal(m.known + m.unknown, m.cells);
    assert_int_equal(m.unknown, m.missing + m.outcome[OUTCOME_INFRA_ERROR] + m.outcome[OUTCOME_NOT_RUN]);
    for (int k = 0; k < 6; k++) {
        const struct metrics_at_k *at[] = {&m.pass[k], &m.fast[k]};
        for (int i = 0; i < 2; i++) {
            assert_int_equal(at[i]->solved + at[i]->failed + at[i]->undecided + at[i]->absent, m.tasks);
            assert_int_equal(at[i]->counted + at[i]->short_of_k, m.tasks);
            assert_true(metrics_estimate(at[i]) >= 0 && metrics_estimate(at[i]) <= 1);
        }
        assert_true(m.fast[k].solved <= m.pass[k].solved);
        assert_true(k == 0 || m.pass[k].solved >= m.pass[k - 1].solved);
    }
    metrics_clear(&m);
    metrics_clear(NULL);
}

static void test_no_task(void **state)
{
    (void)state;
    struct metrics m;
    assert_int_equal(metrics_init(&m, 1, 1, NULL), 0);
    assert_true(metrics_estimate(&m.pass[0]) < 0);
    metrics_clear(&m);
}

static int print_table(void)
{
    static const int ns[] = {1, 2, 3, 5, 10, 31, 100, 200, 500};
    for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
        for (int c = 0; c <= ns[i]; c += 1 + ns[i] / 12)
            for (int k = 1; k <= ns[i]; k += 1 + ns[i] / 12)
                printf("%d %d %d %.17g\n", ns[i], c, k, metrics_pass_at_k(ns[i], c, k));
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_values), cmocka_unit_test(test_all_subsets), cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_sums),        cmocka_unit_test(test_no_task),
    };
    if (argc > 1 && strcmp(argv[1], "--table") == 0)
        return print_table();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
