/* SPDX-License-Identifier: Apache-2.0 */
/* What agents make of GPUs: whose fault it was, who computes on them, which rank gets which. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/gpu_place.h"
#include "node_agent/gpu_state.h"
#include "tests/support/fake_nvml.h"

static struct fake_nvml *nvml;

#define GOOD .known = true, .uncorrected = 7

static void test_whose_fault(void **state)
{
    static const struct {
        struct gpu_state before, after;
        const char *why; /* NULL: not the GPU's */
    } rows[] = {
        {{GOOD}, {GOOD}, NULL},
        {{.uncorrected = -1}, {.uncorrected = -1}, NULL}, /* no NVML */
        {{GOOD}, {.known = true, .uncorrected = 8}, "1 uncorrected"},
        {{GOOD}, {.known = true, .uncorrected = -1}, NULL},
        {{.known = true, .uncorrected = -1}, {GOOD}, NULL},
        {{.known = true, .uncorrected = 9}, {GOOD}, NULL}, /* counters are reset with the driver */
        {{GOOD}, {.lost = true, .why = "fell off"}, "fell off"},
        {{.lost = true, .why = "gone"}, {GOOD}, "gone"},
        {{GOOD}, {GOOD, .n_xids = 1, .xids = {31}}, NULL}, /* a kernel's illegal address */
        {{GOOD}, {GOOD, .n_xids = 3, .xids = {13, 43, 45}}, NULL},
        {{GOOD}, {GOOD, .n_xids = 2, .xids = {31, 79}}, "Xid 79"},
        {{GOOD, .n_xids = 1, .xids = {48}}, {GOOD}, "Xid 48"},
        {{GOOD}, {GOOD, .n_xids = 0, .xids = {79}}, NULL}, /* beyond the count */
        {{GOOD}, {GOOD, .foreign = 4711}, "4711"},
        {{GOOD, .foreign = 4711}, {GOOD}, "4711"},
        {{GOOD}, {GOOD, .throttle = 0x4, .sm_mhz = 300}, NULL}, /* slow is not broken */
        {{GOOD}, {.lost = true, .why = "gone", .foreign = 5, .n_xids = 1, .xids = {79}}, "gone"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char why[300] = "";
        bool bad = gpu_state_is_bad(&rows[i].before, &rows[i].after, why, sizeof(why));
        if (bad != (rows[i].why != NULL) || (bad && !strstr(why, rows[i].why)))
            fail_msg("row %zu: %d '%s'", i, bad, why);
    }
}

static void test_reasons_for_slow_clocks(void **state)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } rows[] = {{0, ""},
                {1, ""}, /* idle */
                {2, ""}, /* what somebody has set */
                {4, "power cap"},
                {0x44, "power cap, hardware thermal"},
                {0xe8, "hardware slowdown, software thermal, hardware thermal, power brake"},
                {1ULL << 60, ""}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[200];
        gpu_throttle_describe(rows[i].bits, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
    char small[8];
    gpu_throttle_describe(~0ULL, small, sizeof(small));
    assert_int_equal(strlen(small), sizeof(small) - 1);
}

static void test_what_records_keep(void **state)
{
    const struct gpu_state full = {GOOD, .sm_mhz = 1980, .throttle = 4, .memory_used = 1 << 20, .n_xids = 1, .xids = {31}};
    const struct gpu_state none = {.why = "NVML: no library", .uncorrected = -1};
    (void)state;
    json_t *value = gpu_state_encode(&full);
    assert_int_equal(json_integer_value(json_object_get(value, "sm_mhz")), 1980);
    assert_int_equal(json_integer_value(json_object_get(value, "ecc_uncorrected")), 7);
    assert_string_equal(json_string_value(json_object_get(value, "throttle")), "power cap");
    assert_int_equal(json_array_size(json_object_get(value, "xids")), 1);
    assert_null(json_object_get(value, "celsius"));
    json_decref(value);
    value = gpu_state_encode(&none);
    assert_string_equal(json_string_value(json_object_get(value, "unknown")), "NVML: no library");
    assert_int_equal(json_object_size(value), 1);
    json_decref(value);
}

/* ---- looking ----------------------------------------------------------------------------------------------------------- */

static void test_looking(void **state)
{
    struct gpu_state s;
    (void)state;
    *nvml = (struct fake_nvml){.n = 2,
                               .gpu = {{"GPU-a", 90},
                                       {.uuid = "GPU-b",
                                        .capability = 90,
                                        .clock = 1500,
                                        .temperature = 40,
                                        .power = 350000,
                                        .memory_used = 123,
                                        .throttle = 4,
                                        .uncorrected = 3,
                                        .n_xids = 2,
                                        .xids = {31, 79}}}};
    struct gpu_watch *w = gpu_watch_create(1);
    assert_string_equal(gpu_watch_uuid(w), "GPU-b");
    gpu_watch_look(w, getpid(), &s);
    assert_true(s.known);
    assert_int_equal(s.sm_mhz, 1500 + NVML_CLOCK_SM);
    assert_int_equal(s.memory_mhz, 1500 + NVML_CLOCK_MEMORY);
    assert_int_equal(s.celsius, 40);
    assert_int_equal(s.uncorrected, 3);
    assert_int_equal(s.memory_used, 123);
    assert_int_equal(s.n_xids, 2);
    assert_int_equal(s.xids[1], 79);
    gpu_watch_look(w, getpid(), &s);
    assert_int_equal(s.n_xids, 0); /* since the last look */
    nvml->gpu[1].unsupported = 1;
    gpu_watch_look(w, getpid(), &s);
    assert_true(s.known);
    assert_int_equal(s.uncorrected, -1);
    nvml->gpu[1].result = NVML_LOST;
    nvml->gpu[1].n_xids = 1;
    nvml->gpu[1].xids[0] = 79;
    gpu_watch_look(w, getpid(), &s);
    assert_true(s.lost && !s.known);
    assert_int_equal(s.xids[0], 79);
    gpu_watch_destroy(w);
    assert_int_equal(nvml->open, 0);
}

static void test_nothing_to_look_at(void **state)
{
    static const struct {
        int init_result, n, ordinal;
        const char *visible, *why;
    } rows[] = {
        {9, 1, 0, NULL, "Unknown Error"}, {0, 0, 0, NULL, "GPU 0 of 0"}, {0, 2, 2, NULL, "GPU 2 of 2"},
        {0, 2, -1, NULL, "GPU -1"},       {0, 2, 0, "", "GPU 0 of 0"},   {0, 2, 1, "1", "GPU 1 of 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gpu_state s;
        *nvml = (struct fake_nvml){.init_result = rows[i].init_result, .n = (unsigned)rows[i].n, .gpu = {{"GPU-a"}, {"GPU-b"}}};
        if (rows[i].visible)
            assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", rows[i].visible, 1), 0);
        struct gpu_watch *w = gpu_watch_create(rows[i].ordinal);
        (void)unsetenv("CUDA_VISIBLE_DEVICES");
        assert_string_equal(gpu_watch_uuid(w), "");
        gpu_watch_look(w, getpid(), &s);
        assert_false(s.known || s.lost);
        if (!strstr(s.why, rows[i].why))
            fail_msg("row %zu: %s", i, s.why);
        gpu_watch_destroy(w);
        assert_int_equal(nvml->open, 0);
    }
}

/* Our own descendants, whoever else, and processes that are not shown here. */
static void test_who_computes(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    const struct {
        unsigned n, pids[3];
        pid_t ours, foreign;
    } rows[] = {
        {0, {0}, getpid(), 0},
        {2, {(unsigned)getpid(), (unsigned)child}, getpid(), 0},
        {1, {(unsigned)child}, getppid(), 0},
        {2, {(unsigned)child, (unsigned)getpid()}, child, getpid()},
        {1, {(unsigned)getppid()}, getpid(), getppid()},
        {1, {4194304 + 1}, getpid(), 0}, /* above the largest process number */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gpu_state s;
        *nvml = (struct fake_nvml){.n = 1, .gpu = {{"GPU-a", 90}}};
        nvml->gpu[0].n_processes = rows[i].n;
        memcpy(nvml->gpu[0].pids, rows[i].pids, sizeof(rows[i].pids));
        struct gpu_watch *w = gpu_watch_create(0);
        gpu_watch_look(w, rows[i].ours, &s);
        gpu_watch_destroy(w);
        if (s.foreign != rows[i].foreign)
            fail_msg("row %zu: %d instead of %d", i, (int)s.foreign, (int)rows[i].foreign);
    }
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* ---- places ------------------------------------------------------------------------------------------------------------ */

static void test_places(void **state)
{
    static const struct {
        int local_rank, local_world, visible;
        bool shared;
        int ordinal;
    } rows[] = {
        {0, 1, 1, false, 0},  {3, 4, 4, false, 3}, {3, 4, 8, false, 3},  {3, 4, 1, false, 0}, /* each sees its own */
        {3, 4, 1, true, 0},   {3, 4, 2, true, 1},  {3, 4, -1, false, 3}, {0, 1, 0, false, -1},
        {2, 4, 2, false, -1}, {0, 1, 0, true, -1}, {7, 8, 4, false, -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        int ordinal = gpu_place_choose(rows[i].local_rank, rows[i].local_world, rows[i].visible, rows[i].shared, &err);
        if (ordinal != rows[i].ordinal || (ordinal < 0) != (err.text[0] != '\0'))
            fail_msg("row %zu: %d %s", i, ordinal, err.text);
    }
}

static void test_the_same_gpu_twice(void **state)
{
    static const struct {
        const char *uuids[4];
        int nodes[4];
        int a, b; /* -1: all differ */
    } rows[] = {
        {{"a", "b", "c", "d"}, {0, 0, 0, 0}, -1, 0}, {{"a", "b", "a", "b"}, {0, 0, 1, 1}, -1, 0},
        {{"", "", "", ""}, {0, 0, 0, 0}, -1, 0},     {{"a", "a", "a", "a"}, {0, 1, 2, 3}, -1, 0},
        {{"a", "b", "c", "a"}, {0, 0, 0, 0}, 0, 3},  {{"a", "b", "b", "a"}, {0, 0, 0, 0}, 1, 2},
        {{"a", "a", "b", "b"}, {0, 1, 1, 1}, 2, 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int a, b;
        assert_int_equal(gpu_place_same(rows[i].uuids, rows[i].nodes, 4, &a, &b), rows[i].a >= 0);
        if (rows[i].a >= 0) {
            assert_int_equal(a, rows[i].a);
            assert_int_equal(b, rows[i].b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whose_fault),
        cmocka_unit_test(test_reasons_for_slow_clocks),
        cmocka_unit_test(test_what_records_keep),
        cmocka_unit_test(test_looking),
        cmocka_unit_test(test_nothing_to_look_at),
        cmocka_unit_test(test_who_computes),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_the_same_gpu_twice),
    };
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    nvml = fake_nvml_load();
    if (!nvml)
        return 1;
    return cmocka_run_group_tests_name("gpu_state", tests, NULL, NULL);
}
