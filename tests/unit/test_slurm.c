/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher slurm without a Slurm: settings, arrays, scripts, jobs.json; attempts' numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orchestrator/attempt_claim.h"
#include "orchestrator/slurm/arrays.h"
#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/script.h"
#include "orchestrator/slurm/settings.h"
#include "tests/support/folder.h"
#include "util/file.h"

static const char *write_file(const char *name, const char *text)
{
    static char path[160];
    (void)snprintf(path, sizeof(path), "%s/%s", test_folder, name);
    assert_int_equal(pkb_file_write(path, text, strlen(text), NULL), 0);
    return path;
}

/* ---- settings -------------------------------------------------------------------------------------------------------- */

static int decode(const char *text, struct slurm_settings *s, struct pkb_error *err)
{
    json_t *given = json_loads(text, 0, NULL);
    assert_non_null(given);
    int rc = slurm_settings_decode(given, s, err);
    json_decref(given);
    return rc;
}

static void test_defaults(void **state)
{
    (void)state;
    struct slurm_settings s;
    struct pkb_error err;
    assert_int_equal(decode("{}", &s, &err), 0);
    assert_null(s.partition);
    assert_string_equal(s.mpi, "pmix");
    assert_int_equal(s.ranks_per_node, 8);
    assert_int_equal(s.minutes, 0);
    assert_true(s.exclusive && s.requeue);
    slurm_settings_clear(&s);
}

static void test_values(void **state)
{
    (void)state;
    struct slurm_settings s;
    struct pkb_error err;
    assert_int_equal(
        decode("{\"partition\": \"a,b\", \"gpu\": \"gpu:h100\", \"throttle\": \"4\", \"exclusive\": \"no\", \"requeue\": false,"
               " \"prolog\": [\"module load x\", \"y\"], \"srun_options\": \"--cpu-bind=none\", \"memory_mb\": 1024}",
               &s, &err),
        0);
    assert_string_equal(s.partition, "a,b");
    assert_string_equal(s.gpu, "gpu:h100");
    assert_int_equal(s.throttle, 4);
    assert_false(s.exclusive || s.requeue);
    assert_int_equal(s.prolog.n, 2);
    assert_string_equal(s.prolog.list[0], "module load x");
    assert_int_equal(s.srun_options.n, 1);
    assert_int_equal(s.memory_mb, 1024);
    slurm_settings_clear(&s);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int minutes; /* 0: wrong */
    } rows[] = {
        {"90", 90},
        {"\"90\"", 90},
        {"\"01:30:00\"", 90},
        {"\"00:00:01\"", 1},
        {"\"1-00:00:00\"", 1440},
        {"\"2-01:00:30\"", 2941},
        {"0", 0},
        {"-5", 0},
        {"\"\"", 0},
        {"\"00:00:00\"", 0},
        {"\"1:30\"", 0},
        {"\"soon\"", 0},
        {"\"90m\"", 0},
        {"1.5", 0},
        {"\"1-00:00:00x\"", 0},
        {"true", 0},
        {"99999999", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        struct slurm_settings s;
        struct pkb_error err = {""};
        (void)snprintf(text, sizeof(text), "{\"time\": %s}", rows[i].text);
        int rc = decode(text, &s, &err);
        if (rc != (rows[i].minutes ? 0 : -1) || s.minutes != rows[i].minutes)
            fail_msg("%s: %d, %d minutes, %s", rows[i].text, rc, s.minutes, err.text);
        slurm_settings_clear(&s);
    }
}

static void test_wrong_settings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"{\"partitoin\": \"x\"}", "did you mean \"partition\"?"},
        {"{\"walltime\": 5}", "unknown key"},
        {"{\"partition\": 5}", "partition: expected a text"},
        {"{\"partition\": \"\"}", "partition: expected a text"},
        {"{\"account\": \"a b\"}", "account: 'a b' holds a blank"},
        {"{\"account\": \"a\\n#SBATCH --x\"}", "holds a blank"},
        {"{\"qos\": \"$(id)\"}", "holds a blank or a character"},
        {"{\"ranks_per_node\": 0}", "ranks_per_node: expected a whole number from 1"},
        {"{\"ranks_per_node\": 1.5}", "expected a whole number"},
        {"{\"build\": \"there\"}", "build: expected \"here\" or \"jobs\", found \"there\""},
        {"{\"build_tasks\": 0}", "build_tasks: expected a whole number"},
        {"{\"build_cpus\": true}", "build_cpus: expected a whole number"},
        {"{\"throttle\": \"4x\"}", "throttle: expected a whole number"},
        {"{\"throttle\": \"\"}", "expected a whole number"},
        {"{\"exclusive\": \"perhaps\"}", "exclusive: expected true or false"},
        {"{\"prolog\": [5]}", "prolog: expected a line of text"},
        {"{\"prolog\": [\"a\\nb\"]}", "prolog: expected a line of text"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slurm_settings s;
        struct pkb_error err = {""};
        if (decode(rows[i].text, &s, &err) != -1 || !strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].text, err.text);
        slurm_settings_clear(&s);
    }
}

static void test_command_line(void **state)
{
    (void)state;
    struct pkb_error err = {""};
    json_t *given = json_pack("{s:s, s:i}", "partition", "old", "throttle", 2);
    assert_int_equal(slurm_settings_add_text(given, "partition=new", &err), 0);
    assert_int_equal(slurm_settings_add_text(given, "prolog=module load a;export B=1", &err), 0);
    assert_string_equal(json_string_value(json_object_get(given, "partition")), "new");
    assert_int_equal(json_array_size(json_object_get(given, "prolog")), 2);
    assert_int_equal(json_integer_value(json_object_get(given, "throttle")), 2);
    assert_int_equal(slurm_settings_add_text(given, "acount=x", &err), -1);
    assert_non_null(strstr(err.text, "did you mean \"account\"?"));
    assert_int_equal(slurm_settings_add_text(given, "account", &err), -1);
    assert_int_equal(slurm_settings_add_text(given, "=x", &err), -1);
    json_decref(given);
}

static void test_site(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says; /* NULL: right */
    } rows[] = {
        {"", NULL},
        {"# nothing\n", NULL},
        {"partition: gpu\nthrottle: 8\nexclusive: yes\nprolog:\n  - module load cuda\n  - \"echo 'a: b'\"\n", NULL},
        {"partition gpu\n", "expected lines"},
        {"- partition\n", "expected lines"},
        {"partition: [\n", "line"},
        {"partition: {a: b}\n", "line 1: partition: expected a value"},
        {"a: 1\na: 2\n", "line 2: a is there twice"},
        {"prolog:\n  - [x]\n", "line 1: prolog: expected"},
        {"partiton: gpu\n", "did you mean \"partition\"?"},
        {"throttle: many\n", "throttle: expected a whole number"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        json_t *given = json_object();
        int rc = slurm_settings_add_site(given, write_file("site.yaml", rows[i].text), &err);
        if (rc != (rows[i].says ? -1 : 0) || (rows[i].says && !strstr(err.text, rows[i].says)))
            fail_msg("%s: %d, %s", rows[i].text, rc, err.text);
        json_decref(given);
    }
}

static void test_no_site(void **state)
{
    (void)state;
    struct pkb_error err = {""};
    json_t *given = json_object();
    assert_int_equal(slurm_settings_add_site(given, "/nonexistent/site.yaml", &err), -1);
    assert_non_null(strstr(err.text, "/nonexistent/site.yaml"));
    json_decref(given);
}

/* ---- arrays ---------------------------------------------------------------------------------------------------------- */

static void test_arrays(void **state)
{
    (void)state;
    static const int shards[] = {0, 1, 2, 5, 7, 8, 9, 10, 19, 20, 25};
    struct slurm_arrays a;
    struct pkb_error err;
    assert_int_equal(slurm_arrays_make(shards, 11, 1001, &a, &err), 0);
    assert_int_equal(a.n, 1);
    assert_string_equal(a.list[0].indexes, "0-2,5,7-10,19-20,25");
    slurm_arrays_clear(&a);
    assert_int_equal(slurm_arrays_make(shards, 11, 10, &a, &err), 0);
    assert_int_equal(a.n, 3);
    assert_string_equal(a.list[0].indexes, "0-2,5,7-9");
    assert_int_equal(a.list[1].base, 10);
    assert_string_equal(a.list[1].indexes, "0,9");
    assert_int_equal(a.list[2].base, 20);
    assert_string_equal(a.list[2].indexes, "0,5");
    slurm_arrays_clear(&a);
    assert_int_equal(slurm_arrays_make(shards, 0, 10, &a, &err), 0);
    assert_int_equal(a.n, 0);
    assert_int_equal(slurm_arrays_make(shards, 11, 0, &a, &err), -1);
}

static void test_indexes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n; /* 0: wrong */
    } rows[] = {
        {"0", 1},  {"0-3", 4}, {"1,3-4,7", 4}, {"1-2%1", 2}, {"7%4", 1}, {"", 0},     {"a", 0},     {"3-1", 0},
        {"1,", 0}, {",1", 0},  {"1-", 0},      {"-1", 0},    {"1;2", 0}, {"1,,2", 0}, {"1-2-3", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (slurm_arrays_count(rows[i].text) != rows[i].n)
            fail_msg("'%s': %zu", rows[i].text, slurm_arrays_count(rows[i].text));
}

static void test_mark(void **state)
{
    (void)state;
    bool wanted[10] = {false};
    assert_true(slurm_arrays_mark("0,2-3%2", 5, wanted, 10));
    for (int i = 0; i < 10; i++)
        assert_int_equal(wanted[i], i == 5 || i == 7 || i == 8);
    assert_false(slurm_arrays_mark("5", 5, wanted, 10));
    assert_false(slurm_arrays_mark("99999999999999999999", 5, wanted, 10));
    assert_false(slurm_arrays_mark("x", 0, wanted, 10));
}

/* ---- scripts and jobs ------------------------------------------------------------------------------------------------ */

static void test_script(void **state)
{
    (void)state;
    struct pkb_error err;
    struct words prolog = WORDS_NONE, command = WORDS_NONE;
    struct slurm_job job = {.name = "pkb-x-w2",
                            .comment = "/a b/it's",
                            .array = "0-3%2",
                            .gpu = "gpu:h100",
                            .nodes = 1,
                            .ranks = 2,
                            .ranks_per_node = 2,
                            .minutes = 15,
                            .signal_seconds = 60,
                            .output = "/run/%A_%a.log"};
    assert_int_equal(words_add(&prolog, &err, "module load cuda"), 0);
    assert_int_equal(words_add(&command, &err, "/bin/task"), 0);
    assert_int_equal(words_add(&command, &err, "--run=/a b/it's"), 0);
    char *text = slurm_script_make(&job, "a title", &prolog, &command, &err);
    assert_string_equal(text, "#!/bin/sh\n# a title\n# By hand: sbatch THIS-FILE\n"
                              "#SBATCH --job-name=pkb-x-w2\n#SBATCH --comment='/a b/it'\\''s'\n#SBATCH --array=0-3%2\n"
                              "#SBATCH --nodes=1\n#SBATCH --ntasks=2\n#SBATCH --ntasks-per-node=2\n#SBATCH --gres=gpu:h100:2\n"
                              "#SBATCH --time=15\n#SBATCH --signal=B:USR1@60\n#SBATCH --no-requeue\n#SBATCH --open-mode=append\n"
                              "#SBATCH --output=/run/%A_%a.log\n\nmodule load cuda\nexec /bin/task '--run=/a b/it'\\''s'\n");
    free(text);
    words_clear(&prolog);
    words_clear(&command);
}

static void test_jobs(void **state)
{
    (void)state;
    struct pkb_error err = {""};
    struct slurm_jobs_entry e = {.job = 17, .kind = SLURM_JOBS_EVALUATE, .world = 4, .base = 10, .array = "0-6"};
    json_t *jobs = slurm_jobs_read(test_folder, &err);
    assert_int_equal(slurm_jobs_count(jobs), 0);
    assert_int_equal(slurm_jobs_add(jobs, test_folder, &e, "jobs/000.sh", &err), 0);
    e = (struct slurm_jobs_entry){.job = 18, .kind = SLURM_JOBS_MERGE, .array = ""};
    assert_int_equal(slurm_jobs_add(jobs, test_folder, &e, "jobs/001.sh", &err), 0);
    json_decref(jobs);
    jobs = slurm_jobs_read(test_folder, &err);
    assert_int_equal(slurm_jobs_count(jobs), 2);
    assert_int_equal(slurm_jobs_entry(jobs, 0, &e, &err), 0);
    assert_true(e.job == 17 && e.world == 4 && e.base == 10 && e.kind == SLURM_JOBS_EVALUATE);
    assert_string_equal(e.array, "0-6");
    assert_int_equal(slurm_jobs_entry(jobs, 1, &e, &err), 0);
    assert_true(e.job == 18 && e.kind == SLURM_JOBS_MERGE);
    json_decref(jobs);
}

static void test_build_place(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        bool by_jobs;
    } rows[] = {
        {"{}", false},
        {"{\"cpu_partition\": \"cpu\"}", true},
        {"{\"cpu_partition\": \"cpu\", \"build\": \"here\"}", false},
        {"{\"build\": \"jobs\"}", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        struct slurm_settings s;
        json_t *given = json_loads(rows[i].settings, 0, NULL);
        assert_int_equal(slurm_settings_decode(given, &s, &err), 0);
        assert_int_equal(slurm_settings_build_by_jobs(&s), rows[i].by_jobs);
        slurm_settings_clear(&s);
        json_decref(given);
    }
}

static void test_wrong_jobs(void **state)
{
    (void)state;
    static const char *const files[] = {
        "", "{", "[]", "{\"format\": 2, \"jobs\": []}", "{\"format\": 1}", "{\"format\": 1, \"jobs\": {}}"};
    static const char *const entries[] = {
        "5",
        "{}",
        "{\"job\": 0, \"kind\": \"merge\", \"world\": 0, \"base\": 0, \"array\": \"\", \"submitted\": \"\"}",
        "{\"job\": \"17\", \"kind\": \"merge\", \"world\": 0, \"base\": 0, \"array\": \"\", \"submitted\": \"\"}",
        "{\"job\": 17, \"kind\": \"cook\", \"world\": 2, \"base\": 0, \"array\": \"0\", \"submitted\": \"\"}",
        "{\"job\": 17, \"kind\": \"evaluate\", \"world\": 2, \"base\": -1, \"array\": \"0\", \"submitted\": \"\"}"};
    struct pkb_error err;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)write_file("jobs.json", files[i]);
        assert_null(slurm_jobs_read(test_folder, &err));
        assert_non_null(strstr(err.text, "jobs.json"));
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        char text[256];
        struct slurm_jobs_entry e;
        (void)snprintf(text, sizeof(text), "{\"format\": 1, \"jobs\": [%s]}", entries[i]);
        (void)write_file("jobs.json", text);
        json_t *jobs = slurm_jobs_read(test_folder, &err);
        assert_int_equal(slurm_jobs_entry(jobs, 0, &e, &err), -1);
        json_decref(jobs);
    }
}

/* ---- attempts -------------------------------------------------------------------------------------------------------- */

static void test_claim(void **state)
{
    (void)state;
    struct pkb_error err = {""};
    char path[160];
    int number;
    assert_int_equal(attempt_claim(test_folder, 3, &number, &err), -1); /* no logs/ */
    (void)snprintf(path, sizeof(path), "%s/logs", test_folder);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(attempt_claim(test_folder, 3, &number, &err), 0);
    assert_int_equal(number, 1);
    assert_int_equal(attempt_claim(test_folder, 3, &number, &err), 0);
    assert_int_equal(number, 2);
    assert_int_equal(attempt_claim(test_folder, 4, &number, &err), 0);
    assert_int_equal(number, 1);
    (void)snprintf(path, sizeof(path), "%s/records", test_folder);
    assert_int_equal(mkdir(path, 0777), 0);
    (void)write_file("records/shard-000003.007.jsonl", "");
    assert_int_equal(attempt_claim(test_folder, 3, &number, &err), 0);
    assert_int_equal(number, 8);
    (void)write_file("records/shard-000003.999.jsonl", "");
    assert_int_equal(attempt_claim(test_folder, 3, &number, &err), -1);
    assert_non_null(strstr(err.text, "999 attempts"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_command_line),
        cmocka_unit_test_setup_teardown(test_site, test_folder_make, test_folder_remove),
        cmocka_unit_test(test_no_site),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_mark),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_build_place),
        cmocka_unit_test_setup_teardown(test_jobs, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_wrong_jobs, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(test_claim, test_folder_make, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
