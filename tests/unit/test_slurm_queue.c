/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a run's jobs, from what slurmctld and the accounting database say: slurm/starts.h, slurm/queue.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "orchestrator/explain_tasks.h"
#include "orchestrator/slurm/queue.h"

/* What Slurm says, job by job. */
static const struct slurm_state *present, *database;
static size_t n_present, n_database, n_asked;
static int present_rc, database_rc;
static int64_t asked_since;

static int states(uint32_t job, slurm_visit_fn *visit, void *arg, struct pkb_error *err)
{
    for (size_t i = 0; i < n_present; i++)
        if (present[i].job == job)
            visit(arg, &present[i]);
    return present_rc < 0 ? pkb_error_set(err, "slurmctld is away") : 0;
}

static int past(const uint32_t *jobs, size_t n, int64_t since, slurm_visit_fn *visit, void *arg, struct pkb_error *err)
{
    (void)jobs;
    n_asked = n;
    asked_since = since;
    for (size_t i = 0; i < n_database && database_rc == 0; i++)
        visit(arg, &database[i]);
    return database_rc < 0 ? pkb_error_set(err, "slurmdbd is away") : database_rc;
}

static const struct slurm_api api = {.version = SLURM_API_VERSION, .states = states, .past = past};

static void slurm_says(const struct slurm_state *now, size_t n_now, const struct slurm_state *then, size_t n_then)
{
    present = now;
    n_present = n_now;
    database = then;
    n_database = n_then;
    present_rc = database_rc = 0;
    n_asked = 0;
}

static json_t *jobs; /* a queue borrows from it */

static int free_jobs(void **state)
{
    (void)state;
    json_decref(jobs);
    jobs = NULL;
    return 0;
}

static json_t *two_jobs(void)
{
    free_jobs(NULL);
    jobs = json_loads("{\"format\": 1, \"jobs\": ["
                      "{\"job\": 7, \"kind\": \"evaluate\", \"world\": 4, \"base\": 10, \"array\": \"0-9\","
                      " \"submitted\": \"2026-01-02T03:04:05Z\", \"script\": \"a\"},"
                      "{\"job\": 8, \"kind\": \"merge\", \"world\": 0, \"base\": 0, \"array\": \"\","
                      " \"submitted\": \"2026-01-02T03:04:06Z\", \"script\": \"b\"}]}",
                      0, NULL);
    assert_non_null(jobs);
    return jobs;
}

#define RUNNING(element, at, took)                                                                                               \
    {                                                                                                                            \
        .job = 7, .elements = element, .state = "RUNNING", .active = true, .start = at, .seconds = took, .nodes = "n12",         \
        .reason = ""                                                                                                             \
    }
#define PENDING(element)                                                                                                         \
    {                                                                                                                            \
        .job = 7, .elements = element, .state = "PENDING", .active = true, .pending = true, .reason = "Resources", .nodes = ""   \
    }
#define ENDED(element, how, at, took)                                                                                            \
    {                                                                                                                            \
        .job = 7, .elements = element, .state = how, .start = at, .seconds = took, .nodes = "n1", .reason = ""                   \
    }
#define N(list) (sizeof(list) / sizeof((list)[0]))

static void read_queue(struct slurm_queue *q, enum slurm_queue_extent extent)
{
    struct pkb_error err = {""};
    if (slurm_queue_read(&api, two_jobs(), q, extent, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_present(void **state)
{
    (void)state;
    static const struct slurm_state now[] = {
        RUNNING("0", 1000, 50),
        {.job = 7, .elements = "5", .state = "RUNNING", .active = true, .start = 1000, .nodes = "n1", .reason = ""},
        PENDING("1-4,6%2"),
        ENDED("7", "COMPLETED", 900, 30),
        ENDED("8", "TIMEOUT", 900, 60),
        ENDED("9", "TIMEOUT", 900, 60),
        {.job = 8, .elements = "", .state = "PENDING", .active = true, .pending = true, .reason = "Dependency", .nodes = ""},
    };
    struct slurm_queue q;
    char text[512];
    slurm_says(now, N(now), NULL, 0);
    read_queue(&q, SLURM_QUEUE_PRESENT);
    assert_int_equal(n_asked, 0);
    assert_int_equal(q.running, 2);
    assert_int_equal(q.pending, 5);
    assert_int_equal(q.list[0].ended, 3);
    assert_int_equal(q.active, 2);
    assert_int_equal(slurm_queue_failures(&q.list[0]), 2);
    assert_true(q.rank_seconds == 4 * (50 + 30 + 60 + 60));
    slurm_queue_describe(&q.list[0], text, sizeof(text));
    assert_string_equal(text, "job 7: 4 ranks, 2 running on n12,n1, 5 waiting (Resources), 3 ended (2 TIMEOUT)");
    slurm_queue_describe(&q.list[1], text, sizeof(text));
    assert_string_equal(text, "job 8: merge, 1 waiting (Dependency)");
    assert_false(q.past.known);
    slurm_queue_clear(&q);
}

/* Element 0 was requeued and runs again; 1 and 2 are forgotten, 2 had two starts; what slurmctld knows too counts once. */
static void test_past(void **state)
{
    (void)state;
    static const struct slurm_state now[] = {RUNNING("0", 2000, 5), ENDED("3", "FAILED", 1500, 7)};
    static const struct slurm_state then[] = {
        ENDED("0", "REQUEUED", 1000, 10),
        ENDED("1", "COMPLETED", 1000, 20),
        ENDED("2", "TIMEOUT", 1400, 40),
        ENDED("2", "NODE_FAIL", 1000, 30),
        ENDED("3", "FAILED", 1500, 8),
        {.job = 99, .elements = "1", .state = "COMPLETED", .start = 1, .seconds = 1000, .nodes = "", .reason = ""},
    };
    struct slurm_queue q;
    char text[512];
    slurm_says(now, N(now), then, N(then));
    read_queue(&q, SLURM_QUEUE_PAST);
    assert_int_equal(n_asked, 2);
    assert_int_equal(asked_since, 1767323045 - 3600);
    assert_true(q.past.known);
    assert_true(q.rank_seconds == 4 * (5 + 7 + 10 + 20 + 40 + 30));
    assert_int_equal(q.list[0].running, 1);
    assert_int_equal(q.list[0].ended, 3);
    slurm_queue_describe(&q.list[0], text, sizeof(text));
    assert_string_equal(text, "job 7: 4 ranks, 1 running on n12, 3 ended (1 TIMEOUT,1 FAILED)");
    json_t *v = slurm_queue_json(&q);
    json_t *ends = json_object_get(json_array_get(v, 0), "ends");
    assert_int_equal(json_integer_value(json_object_get(ends, "COMPLETED")), 1);
    assert_int_equal(json_integer_value(json_object_get(ends, "TIMEOUT")), 1);
    assert_null(json_object_get(ends, "NODE_FAIL"));
    json_decref(v);
    slurm_queue_clear(&q);
}

/* Neither a cluster without a database nor one that does not answer is a failure. */
static void test_no_past(void **state)
{
    (void)state;
    static const struct slurm_state now[] = {RUNNING("0", 2000, 5)};
    static const struct slurm_state then[] = {ENDED("1", "COMPLETED", 1000, 20)};
    struct slurm_queue q;
    slurm_says(now, N(now), then, N(then));
    database_rc = 1;
    read_queue(&q, SLURM_QUEUE_PAST);
    assert_false(q.past.known);
    assert_string_equal(q.past.trouble, "");
    assert_int_equal(q.list[0].ended, 0);
    slurm_queue_clear(&q);
    database_rc = -1;
    read_queue(&q, SLURM_QUEUE_PAST);
    assert_false(q.past.known);
    assert_string_equal(q.past.trouble, "slurmdbd is away");
    assert_int_equal(q.running, 1);
    slurm_queue_clear(&q);
}

static void test_silent_controller(void **state)
{
    (void)state;
    struct slurm_queue q;
    struct pkb_error err = {""};
    slurm_says(NULL, 0, NULL, 0);
    present_rc = -1;
    assert_int_equal(slurm_queue_read(&api, two_jobs(), &q, SLURM_QUEUE_PAST, &err), -1);
    assert_non_null(strstr(err.text, "slurmctld is away"));
    assert_null(q.list);
}

static void test_wrong_jobs(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"jobs\": [{\"job\": 7}]}",
        "{\"jobs\": [5]}",
        "{\"jobs\": [{\"job\": -1, \"kind\": \"evaluate\", \"world\": 4, \"base\": 0, \"array\": \"0\", \"submitted\": \"\"}]}",
        "{\"jobs\": [{\"job\": 1, \"kind\": \"other\", \"world\": 4, \"base\": 0, \"array\": \"0\", \"submitted\": \"\"}]}",
    };
    slurm_says(NULL, 0, NULL, 0);
    for (size_t i = 0; i < N(rows); i++) {
        struct slurm_queue q;
        struct pkb_error err = {""};
        json_t *wrong = json_loads(rows[i], 0, NULL);
        assert_non_null(wrong);
        if (slurm_queue_read(&api, wrong, &q, SLURM_QUEUE_PAST, &err) != -1 || !err.text[0])
            fail_msg("%s", rows[i]);
        json_decref(wrong);
    }
}

/* More ways to end than there is room for are counted all the same. */
static void test_many_ends(void **state)
{
    (void)state;
    static const char *const names[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N"};
    struct slurm_state now[N(names)];
    char elements[N(names)][4];
    struct slurm_queue q;
    char text[64];
    for (size_t i = 0; i < N(names); i++) {
        (void)snprintf(elements[i], sizeof(elements[i]), "%zu", i);
        now[i] = (struct slurm_state)ENDED(elements[i], names[i], 5, 1);
    }
    slurm_says(now, N(now), NULL, 0);
    read_queue(&q, SLURM_QUEUE_PRESENT);
    assert_int_equal(q.list[0].ended, N(names));
    assert_int_equal(q.list[0].n_ends, SLURM_QUEUE_ENDS);
    slurm_queue_describe(&q.list[0], text, sizeof(text));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    slurm_queue_clear(&q);
}

static void test_meaning(void **state)
{
    (void)state;
    assert_non_null(strstr(explain_tasks_meaning("TIMEOUT"), "--slurm time="));
    assert_string_equal(explain_tasks_meaning("COMPLETED"), "");
    assert_string_equal(explain_tasks_meaning("RUNNING"), "");
    assert_string_equal(explain_tasks_meaning(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_present),           cmocka_unit_test(test_past),       cmocka_unit_test(test_no_past),
        cmocka_unit_test(test_silent_controller), cmocka_unit_test(test_wrong_jobs), cmocka_unit_test(test_many_ends),
        cmocka_unit_test(test_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, free_jobs);
}
