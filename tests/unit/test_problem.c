/* SPDX-License-Identifier: Apache-2.0 */
/* Registry, settings, costs and the determinism of inputs: what needs no device. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/problem.h"
#include "tests/support/problem_rows.h"
#include "tests/support/selected.h"
#include "util/digest.h"
#include "util/file.h"

/* ---- registry ------------------------------------------------------------------------------------------------------ */

static void problems_are_complete(void **state)
{
    (void)state;
    int last = 0;
    for (const struct problem *const *at = problem_registry; *at; at++) {
        const struct problem *p = *at;
        char source[200];
        assert_true(p->id > last && p->id <= 87);
        last = p->id;
        assert_int_equal(strtol(p->name, NULL, 10), p->id);
        (void)snprintf(source, sizeof(source), "problems/%s/%s.c", p->family, p->name);
        assert_string_equal(p->source, source);
        assert_true(strlen(p->summary) > 20 && strlen(p->origin) > 10 && strlen(p->worlds) > 0);
        assert_true(p->n_params > 0 && p->n_params <= PROBLEM_MAX_PARAMS);
        assert_true(p->inputs && p->outputs && p->init && p->reference && p->check && p->cost);
    }
}

static void problems_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int id;
    } names[] = {
        {"1", 1},
        {"01", 1},
        {"01_allreduce", 1},
        {"allreduce", 1},
        {"58", 58},
        {"gemm_allreduce", 13},
        {"13_gemm_allreduce", 13},
        {"", 0},
        {"88", 0},
        {"0", 0},
        {"-1", 0},
        {"1 ", 0},
        {" 1", 0},
        {"13_gemm", 0},
        {"gemm", 0},
        {"ALLREDUCE", 0},
        {"allreduce2", 0},
        {"99999999999999999999", 0},
        {"_allreduce", 0},
        {"4294967297", 0},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct problem *p = problem_by_name(names[i].name);
        if ((p ? p->id : 0) != names[i].id)
            fail_msg("'%s' gives %d", names[i].name, p ? p->id : 0);
    }
    assert_ptr_equal(problem_by_id(13), problem_by_name("13"));
    assert_null(problem_by_id(0));
    assert_null(problem_by_id(-5));
}

static void selections_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *names;
        int count, first;
        const char *error; /* NULL: accepted */
    } rows[] = {
        {"2", 1, 2, NULL},
        {"18 2", 2, 2, NULL},
        {" 13_gemm_allreduce  allreduce ", 2, 1, NULL},
        {"7 07", 1, 7, NULL},
        {"", 0, 0, "no problem is named"},
        {"  ", 0, 0, "no problem is named"},
        {"2 88", 0, 0, "there is no problem '88'"},
        {"2,3", 0, 0, "there is no problem '2,3'"},
        {"allreduc", 0, 0, "there is no problem 'allreduc'"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct problem *list[100];
        struct pkb_error err = {""};
        int n = 0, rc = selected_parse(rows[i].names, list, &err);
        if (rows[i].error ? rc != -1 || !strstr(err.text, rows[i].error) : rc != 0)
            fail_msg("'%s': %d, '%s'", rows[i].names, rc, err.text);
        while (rc == 0 && list[n])
            n++;
        assert_int_equal(n, rows[i].count);
        assert_true(n == 0 || list[0]->id == rows[i].first);
    }
}

/* Families and all others are all problems; words are not found inside words. */
static void families_are_selected(void **state)
{
    (void)state;
    static const char *const lists[] = {"collective graph", "!collective graph"};
    int n = 0, all = 0;
    for (int i = 0; i < 2; i++) {
        for (const struct problem *const *p = selected_of(lists[i]); *p; p++, n++)
            assert_true((strcmp((*p)->family, "collective") == 0 || strcmp((*p)->family, "graph") == 0) == (i == 0));
    }
    for (const struct problem *const *p = selected_problems(); *p; p++)
        all++;
    assert_int_equal(n, all);
    assert_null(*selected_of("collect"));
    assert_null(*selected_of("collectives graphs xgraph"));
    assert_null(*selected_of(""));
}

/* ---- settings ------------------------------------------------------------------------------------------------------ */

static void parameters_are_overridden(void **state)
{
    (void)state;
    static const struct {
        int id;
        const char *name;
        double value;
        const char *error; /* NULL: accepted */
    } rows[] = {
        {1, "M", 7, NULL},
        {18, "eps", 1e-6, NULL},
        {58, "bias", -3.5, NULL},
        {3, "src", 1, NULL},
        {1, "m", 7, "did you mean 'M'?"},
        {18, "epsi", 1, "did you mean 'eps'?"},
        {58, "temperature", 1, "it has: M, D, scale, bias"},
        {1, "", 7, "no parameter ''"},
        {1, "M", 7.5, "M = 7.5 is not a whole number"},
        {1, "M", -1, "M = -1 is negative"},
        {1, "M", NAN, "not a finite number"},
        {18, "eps", INFINITY, "not a finite number"},
        {1, "M", 1e15, "too large"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct problem_setting s;
        struct pkb_error err = {""};
        problem_setting_init(&s, problem_by_id(rows[i].id), SHAPE_PAPER, PKB_BF16, 0, 2);
        int rc = problem_setting_override(&s, rows[i].name, rows[i].value, &err);
        if (rows[i].error ? rc != -1 || !strstr(err.text, rows[i].error) : rc != 0)
            fail_msg("row %zu: %d, '%s'", i, rc, err.text);
        if (rc == 0)
            assert_true(problem_real(&s, rows[i].name) == rows[i].value);
    }
}

static const struct setting_row setting_rows[] = {
    {1, PKB_BF16, 0, 1, NULL, 0, NULL},
    {1, PKB_F64, 6, 7, NULL, 0, NULL},
    {12, PKB_BF16, 2, 3, NULL, 0, NULL},
    {16, PKB_F32, 0, 8, NULL, 0, NULL},
    {3, PKB_F32, 1, 4, "src", 3, NULL},
    {58, PKB_BF16, 0, 65, NULL, 0, NULL},
    {1, PKB_I32, 0, 1, NULL, 0, "dtype i32: must be bf16"},
    {1, PKB_FP8_E4M3, 0, 1, NULL, 0, "dtype fp8_e4m3: must be"},
    {1, 77, 0, 1, NULL, 0, "dtype ?"},
    {1, PKB_BF16, 0, 0, NULL, 0, "0 ranks"},
    {1, PKB_BF16, 0, -4, NULL, 0, "-4 ranks"},
    {1, PKB_BF16, 0, 1000000, NULL, 0, "1000000 ranks: must be 1 to"},
    {1, PKB_BF16, 2, 2, NULL, 0, "rank 2 is not one of the 2 ranks"},
    {1, PKB_BF16, -1, 2, NULL, 0, "rank -1"},
    {1, PKB_BF16, 0, 2, "M", 0, "output y has no elements"},
    {1, PKB_BF16, 0, 2, "M", 1e12, NULL},
    {12, PKB_BF16, 0, 5, NULL, 0, "12_allgather_gemm: K = 48 is not divisible by 5 ranks"},
    {12, PKB_BF16, 0, 2, "K", 0, "K = 0 is less than 1"},
    {16, PKB_BF16, 0, 7, NULL, 0, "16_gemm_reducescatter: M = 24 is not divisible by 7 ranks"},
    {16, PKB_BF16, 0, 8, "K", 7, "K = 7 is less than the 8 ranks"},
    {3, PKB_BF16, 0, 2, "src", 2, "03_broadcast: src = 2 is not one of the 2 ranks (0 to 1)"},
    {4, PKB_BF16, 0, 2, "dst", 2, "dst = 2 is not one"},
    {5, PKB_BF16, 0, 2, "src", 9, "src = 9 is not one"},
    {6, PKB_BF16, 0, 2, "dst", 2, "dst = 2 is not one"},
    {10, PKB_BF16, 0, 2, "S", 0, "S = 0 is less than 1"},
    {10, PKB_BF16, 0, 2, "L", 0, "output out has no elements"},
    {18, PKB_BF16, 0, 2, "eps", 0, "eps = 0 is not between 0 and 1"},
    {58, PKB_BF16, 0, 2, "D", 0, "D = 0 is less than 1"},
};

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct problem_setting s;
    struct pkb_error err = {""};
    problem_setting_init(&s, problem_by_id(1), SHAPE_TINY, PKB_BF16, 0, 1);
    assert_int_equal(problem_setting_override(&s, "M", 1099511627776.0, &err), 0);
    assert_int_equal(problem_setting_override(&s, "N", 1099511627776.0, &err), 0);
    assert_int_equal(problem_setting_check(&s, &err), -1);
    assert_non_null(strstr(err.text, "01_allreduce: input x"));
    problem_setting_init(&s, problem_by_id(1), SHAPE_TINY, PKB_BF16, 0, 1);
    s.atol = -1;
    assert_int_equal(problem_setting_check(&s, &err), -1);
    assert_non_null(strstr(err.text, "tolerances -1, 0.01"));
    s.atol = NAN;
    assert_int_equal(problem_setting_check(&s, &err), -1);
}

static void every_problem_runs_at_the_usual_sizes(void **state)
{
    (void)state;
    static const int worlds[] = {1, 2, 4, 8};
    for (const struct problem *const *p = selected_problems(); *p; p++) {
        for (size_t i = 0; i < 8; i++) {
            struct problem_setting s;
            struct pkb_error err = {""};
            problem_setting_init(&s, *p, i < 4 ? SHAPE_PAPER : SHAPE_TINY, PKB_BF16, worlds[i % 4] - 1, worlds[i % 4]);
            if (problem_setting_check(&s, &err) < 0)
                fail_msg("%s", err.text);
        }
    }
}

static void the_tolerance_profile_decides_the_check(void **state)
{
    (void)state;
    struct problem_setting s;
    struct problem_check check;
    for (const struct problem *const *p = selected_problems(); *p; p++) {
        problem_setting_init(&s, *p, SHAPE_TINY, PKB_BF16, 0, 2);
        s.tolerance = PROFILE_PKB;
        s.atol = 0.5;
        s.rtol = 0.25;
        problem_check_for(&s, 0, &check);
        assert_true(check.kind == CHECK_CLOSE && check.atol == 0.5 && check.rtol == 0.25 && check.frobenius == 0);
    }
    problem_setting_init(&s, problem_by_id(1), SHAPE_TINY, PKB_BF16, 0, 16);
    problem_check_for(&s, 0, &check);
    assert_int_equal(check.kind, CHECK_EXACT);
    s.world = 17;
    problem_check_for(&s, 0, &check);
    assert_int_equal(check.kind, CHECK_BOUND);
    assert_true(fabs(check.frobenius - (1 + sqrt(17) / 2) / 256) < 1e-15);
    problem_setting_init(&s, problem_by_id(13), SHAPE_PAPER, PKB_BF16, 0, 8);
    problem_check_for(&s, 0, &check);
    assert_int_equal(check.kind, CHECK_BOUND);
}

static void check_output(const struct problem_setting *s, int k)
{
    const struct problem *p = s->problem;
    struct problem_setting last = *s;
    struct problem_check check, there;
    last.rank = s->world - 1;
    problem_check_for(s, k, &check);
    problem_check_for(&last, k, &there);
    if (check.kind != there.kind)
        fail_msg("%s, %d ranks, output %d: the kind of check depends on the rank", p->name, s->world, k);
    if ((check.kind == CHECK_BOUND && !p->bound) || (check.kind == CHECK_OWN && !p->verify))
        fail_msg("%s, %d ranks, output %d: nothing computes the bound, or compares", p->name, s->world, k);
    const double limits[] = {check.atol, check.rtol, check.frobenius, check.row_max, check.row_rms, (double)check.row};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        assert_true(isfinite(limits[i]) && limits[i] >= 0);
    if (check.kind == CHECK_ROWS && !(check.row_max > 0 && check.row_rms > 0 && check.row_rms < 1))
        fail_msg("%s, %d ranks, output %d: rows may be %g off", p->name, s->world, k, check.row_rms);
}

static void checks_have_what_they_need(void **state)
{
    (void)state;
    static const int dtypes[] = {PKB_BF16, PKB_F16, PKB_F32, PKB_F64}, worlds[] = {1, 2, 4, 8, 17};
    for (const struct problem *const *p = selected_problems(); *p; p++) {
        for (int i = 0; i < 20; i++) {
            struct problem_tensor t[PROBLEM_MAX_TENSORS];
            struct problem_setting s;
            problem_setting_init(&s, *p, SHAPE_TINY, dtypes[i % 4], 0, worlds[i / 4]);
            if (problem_setting_check(&s, NULL) < 0)
                continue;
            int n = (*p)->outputs(&s, t), evidence = problem_evidence_of(&s, t);
            for (int k = 0; k < n; k++)
                check_output(&s, k);
            assert_true(evidence == 0 || (*p)->bound);
            assert_true(n + evidence <= PROBLEM_MAX_TENSORS);
        }
    }
}

/* ---- costs --------------------------------------------------------------------------------------------------------- */

static const struct cost_row cost_rows[] = {
    {1, 0, 2, 864, 6912, 3456},      {1, 3, 4, 1296, 6912, 5184},     {2, 0, 2, 0, 10368, 3456},
    {2, 0, 4, 0, 17280, 10368},      {3, 0, 1, 0, 6912, 0},           {3, 0, 2, 0, 6912, 3456},
    {3, 1, 2, 0, 3456, 0},           {3, 1, 4, 0, 3456, 2304},        {4, 0, 1, 0, 6912, 0},
    {4, 0, 4, 1728, 6912, 0},        {4, 1, 2, 0, 6912, 3456},        {4, 1, 4, 1152, 6912, 3456},
    {5, 0, 2, 0, 10368, 3456},       {5, 1, 4, 0, 3456, 0},           {6, 0, 2, 0, 10368, 0},
    {6, 1, 4, 0, 6912, 3456},        {7, 0, 2, 1728, 10368, 3456},    {7, 0, 4, 5184, 17280, 10368},
    {8, 0, 2, 0, 13824, 3456},       {8, 0, 4, 0, 27648, 10368},      {10, 0, 2, 0, 3360, 880},
    {10, 0, 4, 0, 3360, 1320},       {12, 0, 2, 165888, 13824, 1152}, {12, 0, 4, 165888, 14400, 1728},
    {13, 0, 2, 166752, 16128, 3456}, {13, 0, 4, 167184, 17856, 5184}, {16, 0, 2, 83808, 9792, 1728},
    {16, 0, 4, 42768, 8352, 2592},   {18, 0, 2, 7020, 7056, 96},      {18, 0, 4, 7026, 7056, 144},
    {58, 0, 2, 151552, 4100, 2048},  {58, 0, 4, 75776, 2052, 3072},
};

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* Digest of all inputs and parameters of a set. */
static void digest_set(const struct problem_setting *s, uint32_t trial, char hex[PKB_DIGEST_HEX])
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    struct problem_inputs set = {.trial = trial};
    uint8_t bytes[PKB_DIGEST_BYTES];
    memcpy(set.params, s->params, sizeof(set.params));
    int n = s->problem->inputs(s, t);
    struct pkb_digest *digest = pkb_digest_create(NULL);
    assert_non_null(digest);
    for (int i = 0; i < n; i++) {
        size_t size;
        assert_int_equal(tensor_bytes(&t[i].form, &size, NULL), 0);
        set.in[i] = t[i].form;
        set.in[i].data = malloc(size + 1);
        assert_non_null(set.in[i].data);
        memset(set.in[i].data, 0xa5, size);
    }
    s->problem->init(s, &set);
    assert_int_equal(pkb_digest_begin(digest, NULL), 0);
    assert_int_equal(pkb_digest_update(digest, set.params, sizeof(set.params), NULL), 0);
    for (int i = 0; i < n; i++) {
        size_t size;
        assert_int_equal(tensor_bytes(&t[i].form, &size, NULL), 0);
        assert_int_equal(pkb_digest_update(digest, set.in[i].data, size, NULL), 0);
        free(set.in[i].data);
    }
    assert_int_equal(pkb_digest_final(digest, bytes, NULL), 0);
    pkb_digest_hex(bytes, hex);
    pkb_digest_destroy(digest);
}

static void inputs_are_a_function_of_setting_and_trial(void **state)
{
    (void)state;
    for (const struct problem *const *p = selected_problems(); *p; p++) {
        struct problem_setting s, changed;
        char first[PKB_DIGEST_HEX], other[PKB_DIGEST_HEX];
        problem_setting_init(&s, *p, SHAPE_TINY, PKB_BF16, 1, 4);
        digest_set(&s, 3, first);
        digest_set(&s, 3, other);
        assert_string_equal(first, other);
        digest_set(&s, 4, other);
        assert_string_not_equal(first, other);
        changed = s;
        changed.seed = 1;
        digest_set(&changed, 3, other);
        assert_string_not_equal(first, other);
        changed = s;
        changed.rank = 2;
        digest_set(&changed, 3, other);
        assert_string_not_equal(first, other);
        changed = s;
        changed.inputs = PROFILE_PKB;
        digest_set(&changed, 3, first);
        digest_set(&changed, 3, other);
        assert_string_equal(first, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_are_complete),
        cmocka_unit_test(problems_are_found),
        cmocka_unit_test(selections_are_parsed),
        cmocka_unit_test(families_are_selected),
        cmocka_unit_test(parameters_are_overridden),
        PROBLEM_ROWS_TESTS(&rows_of_problems),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(every_problem_runs_at_the_usual_sizes),
        cmocka_unit_test(the_tolerance_profile_decides_the_check),
        cmocka_unit_test(checks_have_what_they_need),
        cmocka_unit_test(inputs_are_a_function_of_setting_and_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
