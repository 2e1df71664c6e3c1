/* SPDX-License-Identifier: Apache-2.0 */
/* The front end: opening, tensors, views, sticky failures, the arena, a world of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/front.h"

static struct rt *open_alone(void)
{
    struct pkb_error err = {""};
    struct rt_options o = {.rank = 0, .world = 1, .shm_prefix = "/pkb-test"};
    struct rt *rt = rt_open("host", &o, &err);
    if (!rt)
        fail_msg("%s", err.text);
    return rt;
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

static int no_exchange(void *arg, const void *blob, size_t size, void *all, struct pkb_error *err)
{
    (void)arg;
    (void)blob;
    (void)size;
    (void)all;
    return pkb_error_set(err, "not expected");
}

static void test_open(void **state)
{
    static const struct {
        const char *backend, *text;
        int rank, world;
        bool exchange;
    } rows[] = {
        {"none", "backend_none.so", 0, 1, true},
        {"", "not the name of a backend", 0, 1, true},
        {"../host", "not the name of a backend", 0, 1, true},
        {"host", "a world of 0 ranks", 0, 0, true},
        {"host", "rank 2 is not in 0..1", 2, 2, true},
        {"host", "rank -1 is not in 0..1", -1, 2, true},
        {"host", "2 ranks need an exchange function", 0, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        struct rt_options o = {.rank = rows[i].rank, .world = rows[i].world};
        o.exchange = rows[i].exchange ? no_exchange : NULL;
        assert_null(rt_open(rows[i].backend, &o, &err));
        if (!strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s", i, err.text);
    }
    rt_close(NULL);
    struct rt *rt = open_alone();
    assert_int_equal(rt_rank(rt), 0);
    assert_int_equal(rt_world_size(rt), 1);
    assert_null(rt_stream(rt));
    assert_true(rt_device_name(rt)[0] != '\0');
    assert_int_equal(rt_world(rt)->size, 1);
    assert_int_equal(rt_world(rt)->id, 0);
    rt_close(rt);
}

/* The names that options point to may go away after opening; opening alone loads no BLAS and no UCX. */
static void test_open_is_light(void **state)
{
    char line[512], prefix[16] = "/pkb-test";
    struct pkb_error err;
    int nodes[1] = {3};
    struct rt_options o = {.rank = 0, .world = 1, .shm_prefix = prefix, .node_of_rank = nodes};
    struct rt *rt = rt_open("host", &o, &err);
    (void)state;
    assert_non_null(rt);
    memset(prefix, 'x', sizeof(prefix) - 1);
    nodes[0] = 77;
    pkb_symm symm;
    assert_int_equal(rt_symm_alloc(rt, 100, &symm, &err), 0);
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        assert_true(!strstr(line, "libucp") && !strstr(line, "openblas"));
    (void)fclose(maps);
    rt_close(rt);
}

/* ---- tensors ------------------------------------------------------------------------------------------------------- */

static void test_views(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err;
    int32_t numbers[12], got[12] = {0};
    (void)state;
    for (int i = 0; i < 12; i++)
        numbers[i] = i;
    pkb_tensor *t = rt_new(rt, PKB_I32, RT_SHAPE(3, 4));
    rt_upload(rt, t, numbers);
    pkb_tensor *rows = rt_rows(rt, t, 1, 2), *entry = rt_entry(rt, t, 2), *flat = rt_view(rt, t, RT_SHAPE(2, 1, 6));
    pkb_tensor *one = rt_entry(rt, entry, 3), *none = rt_rows(rt, t, 3, 0);
    assert_true(rows->ndim == 2 && rows->shape[0] == 2 && rows->shape[1] == 4 && entry->ndim == 1 && entry->shape[0] == 4);
    assert_true(one->ndim == 0 && none->shape[0] == 0 && flat->ndim == 3 && flat->shape[2] == 6 && flat->shape[3] == 0);
    rt_download(rt, got, rows);
    assert_memory_equal(got, numbers + 4, 32);
    rt_download(rt, got, entry);
    assert_memory_equal(got, numbers + 8, 16);
    rt_download(rt, got, one);
    assert_int_equal(got[0], 11);
    rt_download(rt, got, flat);
    assert_memory_equal(got, numbers, 48);
    rt_fill(rt, rows, 7);
    rt_fill_bytes(rt, one, 0xff);
    rt_download(rt, got, t);
    assert_true(got[3] == 3 && got[4] == 7 && got[10] == 7 && got[11] == -1);
    int64_t wide[12];
    rt_read_i64(rt, wide, t);
    assert_true(wide[3] == 3 && wide[11] == -1);
    assert_int_equal(rt_sync(rt, &err), 0);
    rt_close(rt);
}

/* After the first iteration neither device memory nor tensor structs are allocated: addresses repeat. */
static void test_arena(void **state)
{
    struct rt *rt = open_alone();
    pkb_tensor *first[400];
    void *data[400];
    size_t held = 0;
    (void)state;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 400; i++) {
            pkb_tensor *t = rt_new(rt, PKB_F32, RT_SHAPE(i * 37, i % 3 == 0 ? 40 : 5));
            assert_non_null(t);
            assert_true((uintptr_t)t->data % 256 == 0);
            rt_fill(rt, t, i);
            if (round == 0) {
                first[i] = t;
                data[i] = t->data;
            }
            assert_ptr_equal(t, first[i]);
            assert_ptr_equal(t->data, data[i]);
        }
        if (round == 0)
            held = arena_held(rt->temporaries);
        assert_int_equal(arena_held(rt->temporaries), held);
        rt_release_all(rt);
    }
    pkb_tensor form = {.dtype = PKB_F64, .ndim = 1, .shape = {1000}};
    struct pkb_error err;
    assert_int_equal(rt_keep(rt, &form, &err), 0);
    rt_fill(rt, &form, 1.5);
    rt_fill(rt, rt_new(rt, PKB_F32, RT_SHAPE(1000000)), 2);
    rt_release_all(rt);
    double got[1000];
    rt_download(rt, got, &form);
    assert_int_equal(rt_sync(rt, &err), 0);
    assert_true(got[0] == 1.5 && got[999] == 1.5);
    form.dtype = 77;
    assert_int_equal(rt_keep(rt, &form, &err), -1);
    assert_int_equal(rt_status(rt, &err), 0);
    rt_close(rt);
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

static void test_sticky(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err = {""};
    float got[4] = {0};
    (void)state;
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(2, 2)), *b = rt_new(rt, PKB_F32, RT_SHAPE(3, 2));
    rt_fill(rt, a, 1);
    rt_matmul(rt, a, a, false, b, false);
    rt_fill(rt, a, 2);
    assert_null(rt_new(rt, PKB_F32, RT_SHAPE(2)));
    assert_null(rt_new_like(rt, PKB_F32, a));
    assert_null(rt_view(rt, a, RT_SHAPE(4)));
    assert_null(rt_rows(rt, a, 0, 1));
    assert_null(rt_entry(rt, a, 0));
    assert_null(rt_group(rt, 1, (int[]){0}));
    rt_binary(rt, RT_ADD, NULL, NULL, NULL);
    rt_fail(rt, "second");
    rt_download(rt, got, a);
    int64_t zero[4] = {5, 5, 5, 5};
    pkb_tensor integers = {.dtype = PKB_I32, .ndim = 1, .shape = {4}, .data = got};
    rt_read_i64(rt, zero, &integers);
    assert_true(zero[0] == 0 && zero[3] == 0);
    assert_true(got[0] == 0);
    assert_int_equal(rt_status(rt, &err), -1);
    assert_string_equal(err.text, "matmul: destination is an operand");
    assert_int_equal(rt_sync(rt, &err), -1);
    assert_string_equal(err.text, "matmul: destination is an operand");
    assert_int_equal(rt_events(rt, 3, &err), -1);
    pkb_symm symm;
    assert_int_equal(rt_symm_alloc(rt, 8, &symm, &err), -1);
    assert_string_equal(err.text, "matmul: destination is an operand");
    assert_true(((float *)a->data)[0] == 1); /* the host backend alone may look */
    rt_close(rt);
}

/* Memory that both sides see at one address, as long as the runtime lives. */
static void test_keep_shared(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err;
    pkb_tensor table = {.dtype = PKB_I64, .ndim = 1, .shape = {5}}, empty = {.dtype = PKB_F32, .ndim = 1, .shape = {0}};
    pkb_tensor large = {.dtype = PKB_U8, .ndim = 1, .shape = {3 << 20}}, wrong = {.dtype = PKB_F32, .ndim = 1, .shape = {-1}};
    (void)state;
    assert_int_equal(rt_keep_shared(rt, &table, &err), 0);
    assert_int_equal(rt_keep_shared(rt, &empty, &err), 0);
    assert_int_equal(rt_keep_shared(rt, &large, &err), 0);
    assert_true(table.data && large.data && table.data != large.data);
    rt_iota(rt, &table, 7, 2);
    rt_fill(rt, &large, 3);
    rt_fill(rt, &empty, 1);
    rt_release_all(rt);
    assert_int_equal(rt_sync(rt, &err), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(((const int64_t *)table.data)[i], 7 + 2 * i);
    assert_int_equal(((const uint8_t *)large.data)[(3 << 20) - 1], 3);
    assert_int_equal(rt_keep_shared(rt, &wrong, &err), -1);
    assert_string_equal(err.text, "tensor f32[-1]: dimension 0 is -1");
    wrong = (pkb_tensor){.dtype = PKB_F64, .ndim = 1, .shape = {INT64_C(1) << 59}};
    assert_int_equal(rt_keep_shared(rt, &wrong, &err), -1);
    assert_int_equal(rt_status(rt, &err), 0);
    rt_close(rt);
}

static void test_own_failure(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err;
    (void)state;
    rt_fail(rt, "problem %d: split %lld is negative", 10, -3LL);
    assert_int_equal(rt_status(rt, &err), -1);
    assert_string_equal(err.text, "problem 10: split -3 is negative");
    rt_close(rt);
}

/* ---- a world of one ------------------------------------------------------------------------------------------------ */

static void test_alone(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err;
    const struct rt_group *g = rt_world(rt);
    float numbers[6] = {1, 2, 3, 4, 5, 6}, got[6];
    int64_t rows[1] = {2};
    (void)state;
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(3, 2));
    rt_upload(rt, a, numbers);
    for (int i = 0; i < 8; i++) {
        pkb_tensor *b = rt_new_like(rt, PKB_F32, a);
        size_t n = i == 7 ? 4 : 6;
        if (i == 0)
            rt_all_reduce(rt, g, RT_SUM, b, a);
        else if (i == 1)
            rt_reduce(rt, g, RT_AMAX, b, a, 0);
        else if (i == 2)
            rt_all_gather(rt, g, b, a);
        else if (i == 3)
            rt_reduce_scatter(rt, g, RT_PROD, b, a);
        else if (i == 4)
            rt_gather(rt, g, b, a, 0);
        else if (i == 5)
            rt_scatter(rt, g, b, a, 0);
        else if (i == 6)
            rt_all_to_all(rt, g, b, a);
        else
            rt_all_to_all_v(rt, g, b, rows, a, rows);
        rt_download(rt, got, b);
        assert_memory_equal(got, numbers, n * sizeof(float));
    }
    pkb_tensor *c = rt_new_like(rt, PKB_F32, a);
    rt_p2p_begin(rt);
    rt_recv(rt, g, c, 0);
    rt_send(rt, g, a, 0);
    rt_p2p_end(rt);
    rt_broadcast(rt, g, c, 0);
    rt_barrier(rt, g);
    rt_symm_barrier(rt);
    rt_download(rt, got, c);
    assert_memory_equal(got, numbers, sizeof(numbers));
    assert_ptr_equal(rt_group(rt, 1, (int[]){0}), g);
    assert_int_equal(rt_sync(rt, &err), 0);
    rt_close(rt);
}

static void test_events(void **state)
{
    struct rt *rt = open_alone();
    struct pkb_error err;
    (void)state;
    assert_int_equal(rt_events(rt, 2, &err), 0);
    rt_event_record(rt, 0);
    assert_int_equal(rt_events(rt, 5, &err), 0);
    pkb_tensor *a = rt_new(rt, PKB_F32, RT_SHAPE(300, 300));
    rt_fill(rt, a, 1);
    rt_unary(rt, RT_EXP, a, a);
    rt_event_record(rt, 4);
    assert_int_equal(rt_sync(rt, &err), 0);
    assert_true(rt_event_elapsed_ns(rt, 0, 4) > 0);
    assert_true(rt_event_elapsed_ns(rt, 4, 0) == -rt_event_elapsed_ns(rt, 0, 4));
    assert_true(rt_event_elapsed_ns(rt, 4, 4) == 0);
    rt_event_record(rt, 5);
    assert_int_equal(rt_status(rt, &err), -1);
    rt_close(rt);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_is_light), cmocka_unit_test(test_open),   cmocka_unit_test(test_views),
        cmocka_unit_test(test_arena),         cmocka_unit_test(test_sticky), cmocka_unit_test(test_own_failure),
        cmocka_unit_test(test_keep_shared),   cmocka_unit_test(test_alone),  cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
