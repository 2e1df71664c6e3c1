/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the shared memory (nothing overlaps, nothing overflows) and the memory itself (what a runner cannot do to it). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node_agent/segment.h"

/* A problem whose sizes the tests choose: params N (elements), D (number of tensors), B (1: the last output has a bound, 2: the
 * problem's own check), E (tensors of evidence). */
static int some_tensors(const struct problem_setting *s, struct problem_tensor *t)
{
    int n = (int)s->params[1];
    for (int i = 0; i < n && i < PROBLEM_MAX_TENSORS; i++)
        t[i] = (struct problem_tensor){.name = "t", .form = {.dtype = s->dtype, .ndim = 1, .shape = {(int64_t)s->params[0] + i}}};
    return n;
}

static void some_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    static const enum problem_check_kind kinds[] = {CHECK_EXACT, CHECK_BOUND, CHECK_OWN};
    *check = (struct problem_check){.kind = output == (int)s->params[1] - 1 ? kinds[(int)s->params[2]] : CHECK_EXACT};
}

static int some_evidence(const struct problem_setting *s, struct problem_tensor *t)
{
    int n = (int)s->params[3];
    for (int i = 0; i < n && i < PROBLEM_MAX_TENSORS; i++)
        t[i] = (struct problem_tensor){.name = "e", .form = {.dtype = PKB_F64, .ndim = 1, .shape = {(int64_t)s->params[0] - i}}};
    return n;
}

static const struct problem some_problem = {
    .id = 1, .name = "some", .inputs = some_tensors, .outputs = some_tensors, .check = some_check, .evidence = some_evidence};

static struct problem_setting setting(double elements, double tensors, double bound)
{
    return (struct problem_setting){
        .problem = &some_problem, .dtype = PKB_BF16, .world = 1, .params = {elements, tensors, bound}};
}

struct range {
    size_t first, size;
};

static void check_ranges(const struct range *ranges, int n, size_t stride)
{
    for (int i = 0; i < n; i++) {
        assert_true(ranges[i].first + ranges[i].size <= stride);
        for (int j = 0; j < i; j++)
            if (ranges[i].size && ranges[j].size)
                assert_true(ranges[i].first >= ranges[j].first + ranges[j].size ||
                            ranges[j].first >= ranges[i].first + ranges[i].size);
    }
}

static void check_layout(const struct segment_layout *l)
{
    struct range set[64] = {{0, PROBLEM_MAX_PARAMS * sizeof(double)}}, expected[64], slot[64];
    int n_set = 1, n_expected = 0, n_slot = 0;
    slot[n_slot++] = (struct range){0, PROBLEM_MAX_TENSORS * sizeof(pkb_tensor)};
    for (int i = 0; i < l->n_in; i++) {
        set[n_set++] = (struct range){l->in_offset[i], l->in_bytes[i]};
        slot[n_slot++] = (struct range){l->after_offset[i], l->in_bytes[i]};
        assert_int_equal((l->in_offset[i] | l->after_offset[i]) % SEGMENT_ALIGN, 0);
    }
    for (int i = 0; i < l->n_out; i++) {
        size_t elements = l->out_bytes[i] / dtype_size(l->out[i].form.dtype);
        expected[n_expected++] = (struct range){l->expected_offset[i], l->out_bytes[i]};
        expected[n_expected++] = (struct range){l->tolerance_offset[i], l->check[i].kind == CHECK_BOUND ? 4 * elements : 0};
        slot[n_slot++] = (struct range){l->out_offset[i], l->out_bytes[i]};
        assert_int_equal((l->expected_offset[i] | l->tolerance_offset[i] | l->out_offset[i]) % SEGMENT_ALIGN, 0);
    }
    for (int i = 0; i < l->n_evidence; i++) {
        expected[n_expected++] = (struct range){l->evidence_offset[i], l->evidence_bytes[i]};
        assert_int_equal(l->evidence_offset[i] % SEGMENT_ALIGN, 0);
    }
    check_ranges(set, n_set, l->in_stride);
    check_ranges(expected, n_expected, l->expected_stride);
    check_ranges(slot, n_slot, l->slot_stride);
    assert_int_equal(l->inputs_size, l->in_stride * (size_t)l->sets);
    assert_int_equal(l->expected_size, l->expected_stride * (size_t)l->sets);
    assert_int_equal(l->slots_size, l->slot_stride * (size_t)(l->trials + l->samples));
}

static void test_nothing_overlaps(void **state)
{
    static const double elements[] = {0, 1, 127, 128, 129, 1000};
    (void)state;
    for (size_t e = 0; e < sizeof(elements) / sizeof(elements[0]); e++) {
        for (int tensors = 1; tensors <= PROBLEM_MAX_TENSORS; tensors += 7) {
            struct problem_setting s = setting(elements[e], tensors, 1);
            struct segment_layout l;
            assert_int_equal(segment_layout_make(&s, 5, 4, 3, 0, &l, NULL), 0);
            assert_int_equal(l.sets, 9);
            check_layout(&l);
        }
    }
}

static void test_evidence_is_kept(void **state)
{
    static const struct {
        double elements, tensors, check, evidence;
        int kept;          /* -1: refused */
        const char *error; /* then */
    } rows[] = {
        {100, 2, 2, 0, 0, NULL},
        {100, 2, 2, 1, 1, NULL},
        {100, 2, 2, 22, 22, NULL},
        {100, 2, 1, 3, 0, NULL},
        {100, 2, 2, 23, -1, "2 outputs, 23 tensors of evidence"},
        {100, 2, 2, -1, -1, "-1 tensors of evidence"},
        {1, 2, 2, 3, -1, "evidence e"},
        {1152921504606846976.0, 1, 2, 1, -1, "some"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct problem_setting s = setting(rows[i].elements, rows[i].tensors, rows[i].check);
        struct segment_layout l;
        struct pkb_error err = {""};
        s.params[3] = rows[i].evidence;
        int rc = segment_layout_make(&s, 2, 2, 1, 0, &l, &err);
        if (rc != (rows[i].error ? -1 : 0) || (rows[i].error && !strstr(err.text, rows[i].error)))
            fail_msg("row %zu: %d, '%s'", i, rc, err.text);
        if (rc < 0)
            continue;
        assert_int_equal(l.n_evidence, rows[i].kept);
        check_layout(&l);
    }
}

static void test_layouts_that_cannot_be(void **state)
{
    static const struct {
        double elements, tensors;
        int trials, timed, samples;
        size_t limit;
        const char *text;
    } rows[] = {
        {8, 1, 0, 4, 3, 0, "0 trials"},
        {8, 1, -1, 4, 3, 0, "-1 trials"},
        {8, 1, 5, 0, 3, 0, "0 timed sets"},
        {8, 1, 5, 4, -1, 0, "-1 samples"},
        {8, 1, SEGMENT_MAX_SETS + 1, 4, 3, 0, "at most"},
        {8, 1, 5, 4, 0x7fffffff, 0, "at most"},
        {8, 0, 5, 4, 3, 0, "0 outputs"},
        {8, PROBLEM_MAX_TENSORS + 1, 5, 4, 3, 0, "outputs"},
        {8, -1, 5, 4, 3, 0, "inputs"},
        {-5, 1, 5, 4, 3, 0, "input t"},
        {4611686018427387904.0, 1, 5, 4, 3, 0, "some"},
        {1152921504606846976.0, 1, 5, 4, 3, 0, "too large"},
        {1e6, 1, 5, 4, 3, 1 << 20, "the limit is 1 MB"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct problem_setting s = setting(rows[i].elements, rows[i].tensors, 0);
        struct segment_layout l;
        struct pkb_error err;
        assert_int_equal(segment_layout_make(&s, rows[i].trials, rows[i].timed, rows[i].samples, rows[i].limit, &l, &err), -1);
        assert_non_null(strstr(err.text, rows[i].text));
    }
}

static void test_both_sides_see_the_same_memory(void **state)
{
    struct segment agent, runner;
    (void)state;
    assert_int_equal(segment_create("test", 10000, &agent, NULL), 0);
    assert_int_equal(segment_map(fcntl(agent.fd, F_DUPFD_CLOEXEC, 0), 10000, 1, &runner, NULL), 0);
    assert_int_equal(((char *)agent.data)[9999], 0);
    ((char *)runner.data)[9999] = 42;
    assert_int_equal(((char *)agent.data)[9999], 42);
    assert_true(fcntl(agent.fd, F_GETFD) & FD_CLOEXEC);
    segment_destroy(&runner);
    segment_destroy(&agent);
    segment_destroy(&agent);
    segment_destroy(NULL);
}

static void test_a_runner_cannot_resize(void **state)
{
    struct segment seg;
    (void)state;
    assert_int_equal(segment_create("test", 8192, &seg, NULL), 0);
    assert_int_equal(ftruncate(seg.fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(seg.fd, 1 << 20), -1);
    segment_destroy(&seg);
}

static void test_sealed_inputs_cannot_be_written(void **state)
{
    struct segment seg, reader, writer;
    struct pkb_error err;
    (void)state;
    assert_int_equal(segment_create("test", 8192, &seg, NULL), 0);
    assert_int_equal(segment_seal(&seg, NULL), 0);
    ((char *)seg.data)[0] = 7; /* the agent's own mapping stays writable */
    int fd = fcntl(seg.fd, F_DUPFD_CLOEXEC, 0);
    assert_int_equal(segment_map(fd, 8192, 1, &writer, &err), -1);
    assert_int_equal(segment_map(fd, 8192, 0, &reader, &err), 0);
    assert_int_equal(((char *)reader.data)[0], 7);
    assert_int_equal(mprotect(reader.data, reader.size, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, 0), -1); /* nor can seals be changed */
    segment_destroy(&reader);
    segment_destroy(&seg);
}

static void test_maps_that_cannot_be(void **state)
{
    struct segment seg, other;
    struct pkb_error err;
    (void)state;
    assert_int_equal(segment_create("test", 100, &seg, NULL), 0);
    assert_int_equal(segment_map(seg.fd, 101, 0, &other, &err), -1);
    assert_non_null(strstr(err.text, "100 bytes, 101 are needed"));
    assert_int_equal(segment_map(-1, 1, 0, &other, &err), -1);
    assert_int_equal(segment_map(987, 1, 0, &other, &err), -1);
    assert_int_equal(segment_create("test", SIZE_MAX, &other, &err), -1);
    assert_int_equal(segment_create("test", (size_t)1 << 62, &other, &err), -1);
    assert_int_equal(other.fd, -1);
    assert_null(other.data);
    segment_destroy(&seg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_overlaps),       cmocka_unit_test(test_evidence_is_kept),
        cmocka_unit_test(test_layouts_that_cannot_be), cmocka_unit_test(test_both_sides_see_the_same_memory),
        cmocka_unit_test(test_a_runner_cannot_resize), cmocka_unit_test(test_sealed_inputs_cannot_be_written),
        cmocka_unit_test(test_maps_that_cannot_be),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
