/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-runner itself, as its agent would use it: the reference, the candidates of tests/candidates with the outcomes that its README
 * lists, the times that it measures. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/one_cell.h"
#include "tests/support/workshop.h"
#include "util/json.h"
#include "util/paths.h"

#define PROBLEM "01_allreduce"
#define SOON 20000 /* ms: a bound, not a wait */

/* ---- outcomes ------------------------------------------------------------------------------------------------------------ */

static void run_row(struct one_cell *c, const char *name, enum outcome expected)
{
    struct build_result r;
    if (PKB_SANITIZERS && expected == OUTCOME_OUT_OF_MEMORY)
        return; /* the sanitizers' own allocator is in the way, and needs more address space than any limit */
    if (workshop_build(name, &r) == BUILD_COMPILE_ERROR) {
        assert_int_equal(expected, OUTCOME_COMPILE_ERROR);
        return;
    }
    c->timeout_ms = expected == OUTCOME_DEADLOCK ? 700 : 60000;
    c->address_space = expected == OUTCOME_OUT_OF_MEMORY ? (uint64_t)4 << 30 : 0;
    one_cell_candidate(c, r.object);
    if (c->outcome != expected)
        fail_msg("%s: expected %s, found %s on rank %d: %s", name, outcome_name(expected), outcome_name(c->outcome), c->rank,
                 c->detail);
    if (c->outcome == OUTCOME_CORRECT)
        one_cell_quit(c);
    else
        assert_true(c->detail[0] != '\0');
}

static int run_readme(struct one_cell *c)
{
    char path[512], line[256], name[64], outcome[64];
    int rows = 0;
    (void)snprintf(path, sizeof(path), "%s/README", workshop_candidates());
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        int end = 0;
        if (sscanf(line, "%63[a-z0-9_] %63[a-z_]%n", name, outcome, &end) != 2 || line[end] != '\n')
            continue;
        assert_true(outcome_parse(outcome) >= 0);
        run_row(c, name, (enum outcome)outcome_parse(outcome));
        rows++;
    }
    (void)fclose(f);
    return rows;
}

static void test_every_outcome(void **state)
{
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 2, NULL);
    one_cell_reference(&c);
    assert_true(run_readme(&c) >= 25);
    one_cell_close(&c);
}

static void test_details(void **state)
{
    static const struct {
        const char *name, *detail;
    } rows[] = {
        {"no_symbol", "no symbol pkb_solution"},
        {"no_header", "does not include <pkb/candidate.h>"},
        {"wrong_abi", "built against version 42"},
        {"undefined_symbol", "no_such_function"},
        {"returns_error", "pkb_solution returned 7 in trial 2"},
        {"setup_error", "pkb_setup returned -5"},
        {"exit0", "exited with code 0 in pkb_solution, trial 0"},
        {"out_of_memory", "returned 12 in trial 0 after an allocation had been refused"},
        {"modifies_input", "trial 0: input x was modified"},
        {"wrong_value", "trial 0: output y: 1 of"},
        {"wrong_shape", "trial 0: output y: expected f32"},
        {"late_wrong", "timed iteration"},
    };
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 1, NULL);
    one_cell_reference(&c);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct build_result r;
        if (PKB_SANITIZERS && strcmp(rows[i].name, "out_of_memory") == 0)
            continue;
        assert_int_equal(workshop_build(rows[i].name, &r), BUILD_OK);
        one_cell_candidate(&c, r.object);
        if (!strstr(c.detail, rows[i].detail))
            fail_msg("%s: '%s' is not in '%s'", rows[i].name, rows[i].detail, c.detail);
    }
    one_cell_close(&c);
}

/* Tensors with marks: outputs that are updated in place start as their inputs, at every call; the host may read some inputs; of
 * some outputs the rows that count are looked at. */
static void test_marked_tensors(void **state)
{
    static const struct {
        const char *problem;
        int world;
        const char *name;
        enum outcome outcome;
        const char *detail;
    } rows[] = {
        {"30", 1, "forms/in_place", OUTCOME_CORRECT, ""},
        {"27", 1, "forms/counted", OUTCOME_CORRECT, ""},
        {"27", 3, "forms/counted", OUTCOME_CORRECT, ""},
        {"30", 1, "forms/in_place_twice", OUTCOME_VALUE_MISMATCH, "trial 0: output dA2: 192 of 192 elements differ"},
        {"30", 2, "forms/in_place", OUTCOME_VALUE_MISMATCH, "trial 0: output dA1"},
        {"27", 1, "forms/miscounted", OUTCOME_VALUE_MISMATCH, "trial 0: output n_y: y has 48 rows, not 47"},
        {"27", 1, "forms/uncounted", OUTCOME_VALUE_MISMATCH, "trial 0: output n_y: y has 48 rows, not -1"},
        {"27", 1, "forms/writes_splits", OUTCOME_VALUE_MISMATCH, "trial 0: input out_splits was modified"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct one_cell c;
        struct build_result r;
        assert_int_equal(workshop_build(rows[i].name, &r), BUILD_OK);
        one_cell_open(&c, rows[i].problem, rows[i].world, NULL);
        one_cell_reference(&c);
        one_cell_candidate(&c, r.object);
        if (c.outcome != rows[i].outcome || !strstr(c.detail, rows[i].detail))
            fail_msg("%s, %d ranks: %s: '%s'", rows[i].name, rows[i].world, outcome_name(c.outcome), c.detail);
        if (c.outcome == OUTCOME_CORRECT)
            one_cell_quit(&c);
        one_cell_close(&c);
    }
}

static void test_the_stage_of_a_hang(void **state)
{
    struct one_cell c;
    struct build_result r;
    (void)state;
    assert_int_equal(workshop_build("deadlock_one_rank", &r), BUILD_OK);
    one_cell_open(&c, PROBLEM, 2, NULL);
    one_cell_reference(&c);
    assert_int_equal(one_cell_start(&c, "candidate", r.object), 0);
    c.timeout_ms = 1500;
    assert_int_equal(one_cell_command(&c, json_pack("{s:s}", "do", "trials")), -1);
    assert_int_equal(c.outcome, OUTCOME_DEADLOCK);
    assert_string_equal(c.detail, "rank 0 in a barrier, trial 0; rank 1 in pkb_solution, trial 0");
    one_cell_close(&c);
}

/* ---- times --------------------------------------------------------------------------------------------------------------- */

static void check_times(const struct one_cell *c)
{
    for (int q = 0; q < c->world; q++) {
        const json_t *ns = json_object_get(c->ranks[q].answer, "ns");
        double samples[64], sum = 0;
        size_t n = json_array_size(ns);
        assert_true(n <= 64);
        for (size_t i = 0; i < n; i++) {
            samples[i] = json_number_value(json_array_get(ns, i));
            sum += samples[i];
        }
        assert_int_equal(judge_samples(samples, (int)n, c->setting.iterations, NULL), 0);
        assert_true(sum <= json_number_value(json_object_get(c->ranks[q].answer, "total_ns")));
    }
}

/* A baseline that is taken again: a second reference runner that finds the inputs sealed and makes no trials. */
static void test_times_of_the_reference(void **state)
{
    struct one_cell c;
    (void)state;
    one_cell_open(&c, PROBLEM, 2, NULL);
    one_cell_reference(&c);
    assert_int_equal(one_cell_start(&c, "reference", NULL), 0);
    json_t *command = json_pack("{s:s, s:i, s:i, s:[]}", "do", "time", "warmup", 3, "iterations", c.setting.iterations, "sample");
    if (one_cell_command(&c, command) < 0)
        fail_msg("%s", c.detail);
    check_times(&c);
    one_cell_quit(&c);
    one_cell_close(&c);
}

static void test_times_of_a_candidate(void **state)
{
    struct one_cell c;
    struct build_result r;
    (void)state;
    assert_int_equal(workshop_build("correct", &r), BUILD_OK);
    one_cell_open(&c, PROBLEM, 2, NULL);
    one_cell_reference(&c);
    one_cell_candidate(&c, r.object);
    assert_int_equal(c.outcome, OUTCOME_CORRECT);
    check_times(&c);
    one_cell_quit(&c);
    one_cell_close(&c);
}

static void time_reference(struct one_cell *c, struct one_loop *loop)
{
    assert_int_equal(one_cell_start(c, "reference", NULL), 0);
    assert_int_equal(one_cell_command(c, json_pack("{s:s, s:i, s:i, s:[]}", "do", "time", "warmup", 3, "iterations",
                                                   c->setting.iterations, "sample")),
                     0);
    one_cell_loop(c, loop);
    one_cell_quit(c);
}

/* Four ranks on whatever cores there are: honest ones are believed, and a tenth is not where the judge says that it can tell. */
static void test_honest_times_are_believed(void **state)
{
    static const double sizes[] = {256, 512};
    struct one_cell c;
    struct build_result r;
    struct one_loop reference, candidate;
    struct judge_clock clock;
    (void)state;
    assert_int_equal(workshop_build("correct", &r), BUILD_OK);
    one_cell_open(&c, PROBLEM, 4, sizes);
    one_cell_reference(&c);
    time_reference(&c, &reference);
    one_cell_candidate(&c, r.object);
    assert_int_equal(c.outcome, OUTCOME_CORRECT);
    one_cell_loop(&c, &candidate);
    one_cell_quit(&c);
    judge_clock(&candidate.loop, &reference.loop, &clock);
    if (clock.outcome != OUTCOME_CORRECT)
        fail_msg("%s", clock.detail);
    for (int q = 0; q < 4; q++)
        for (int i = 0; i < c.setting.iterations; i++)
            candidate.ns[q][i] /= 10;
    judge_clock(&candidate.loop, &reference.loop, &clock);
    assert_true(clock.outcome == OUTCOME_TAMPERING || !clock.conclusive);
    print_message("claimed %.1f ms of %.1f ms, believed up to %.1f ms: %s\n", clock.claimed_ns * 1e-6, clock.wall_ns * 1e-6,
                  clock.allowed_ns * 1e-6, outcome_name(clock.outcome));
    one_loop_free(&reference);
    one_loop_free(&candidate);
    one_cell_close(&c);
}

/* Reference and bound of every problem run, and give what they gave before. */
static void test_references_repeat_themselves(void **state)
{
    (void)state;
    for (int i = 0; problem_registry[i]; i++) {
        struct one_cell a, b;
        one_cell_open(&a, problem_registry[i]->name, 2, NULL);
        one_cell_open(&b, problem_registry[i]->name, 2, NULL);
        one_cell_reference(&a);
        one_cell_reference(&b);
        for (int q = 0; q < 2; q++) {
            assert_memory_equal(a.ranks[q].inputs.data, b.ranks[q].inputs.data, a.ranks[q].layout.inputs_size);
            assert_memory_equal(a.ranks[q].expected.data, b.ranks[q].expected.data, a.ranks[q].layout.expected_size);
        }
        one_cell_close(&a);
        one_cell_close(&b);
    }
}

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

static void test_ends_with_its_agent(void **state)
{
    struct one_cell c;
    int status = -1;
    (void)state;
    one_cell_open(&c, PROBLEM, 1, NULL);
    assert_int_equal(one_cell_start(&c, "reference", NULL), 0);
    lines_destroy(c.ranks[0].lines);
    c.ranks[0].lines = NULL;
    assert_int_equal(process_wait(&c.ranks[0].process, SOON, &status, NULL), 1);
    assert_true(WIFEXITED(status));
    one_cell_close(&c);
}

static int run_by_hand(const char *option, char text[2000])
{
    char *path = pkb_path(PKB_PATH_LIBEXEC, "pkb-runner", NULL);
    const char *argv[] = {path, option, NULL};
    int fd = memfd_create("output", MFD_CLOEXEC), status = -1;
    const struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = fd, .stderr_fd = fd};
    assert_int_equal(process_run(&spec, SOON, &status, NULL), 0);
    ssize_t n = pread(fd, text, 1999, 0);
    text[n > 0 ? n : 0] = '\0';
    (void)close(fd);
    free(path);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_by_hand(void **state)
{
    char text[2000];
    (void)state;
    assert_int_equal(run_by_hand(NULL, text), 2);
    assert_non_null(strstr(text, "started by pkb-agent"));
    assert_int_equal(run_by_hand("--version", text), 0);
    assert_non_null(strstr(text, "pkb-runner "));
    assert_int_equal(run_by_hand("--help", text), 0);
    assert_int_not_equal(run_by_hand("--no-such-option", text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_ends_with_its_agent),
        cmocka_unit_test(test_times_of_the_reference),
        cmocka_unit_test(test_times_of_a_candidate),
        cmocka_unit_test(test_honest_times_are_believed),
        cmocka_unit_test(test_details),
        cmocka_unit_test(test_marked_tensors),
        cmocka_unit_test(test_the_stage_of_a_hang),
        cmocka_unit_test(test_every_outcome),
        cmocka_unit_test(test_references_repeat_themselves),
    };
    return cmocka_run_group_tests_name("runner", tests, workshop_open, workshop_close);
}
