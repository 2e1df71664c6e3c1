/* SPDX-License-Identifier: Apache-2.0 */
/* The front end: opening, tensors, views, sticky failures, the arena, and every check of an operation's operands. */
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

/* One bad call each, with the text that it must leave. */
struct operands {
    struct rt *rt;
    pkb_tensor *f24, *f35, *f3, *f2, *scalar, *i4, *i64_4, *b24, *bool2, *f222, *f48;
};

typedef void bad_call(struct operands *o);

static void bad_new_dims(struct operands *o)
{
    int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    rt_new(o->rt, PKB_F32, 9, shape);
}
static void bad_new_negative(struct operands *o)
{
    rt_new(o->rt, PKB_F32, RT_SHAPE(2, -1));
}
static void bad_new_dtype(struct operands *o)
{
    rt_new(o->rt, 42, RT_SHAPE(2));
}
static void bad_new_huge(struct operands *o)
{
    rt_new(o->rt, PKB_F32, RT_SHAPE(INT64_C(1) << 61, 1));
}
static void bad_new_like(struct operands *o)
{
    rt_new_like(o->rt, PKB_F32, NULL);
}
static void bad_view(struct operands *o)
{
    rt_view(o->rt, o->f24, RT_SHAPE(3, 3));
}
static void bad_rows(struct operands *o)
{
    rt_rows(o->rt, o->f24, 1, 2);
}
static void bad_rows_overflow(struct operands *o)
{
    rt_rows(o->rt, o->f24, 1, INT64_MAX);
}
static void bad_entry(struct operands *o)
{
    rt_entry(o->rt, o->scalar, 0);
}
static void bad_copy(struct operands *o)
{
    rt_copy(o->rt, o->f24, o->f3);
}
static void bad_copy_missing(struct operands *o)
{
    rt_copy(o->rt, o->f24, NULL);
}
static void bad_fill(struct operands *o)
{
    rt_fill(o->rt, NULL, 1);
}
static void bad_upload(struct operands *o)
{
    rt_upload(o->rt, NULL, "");
}
static void bad_download(struct operands *o)
{
    rt_download(o->rt, NULL, NULL);
}
static void bad_read(struct operands *o)
{
    int64_t x[3];
    rt_read_i64(o->rt, x, o->f3);
}
static void bad_unary_op(struct operands *o)
{
    rt_unary(o->rt, (enum rt_unary)99, o->f3, o->f3);
}
static void bad_unary_shape(struct operands *o)
{
    rt_unary(o->rt, RT_EXP, o->f3, o->f2);
}
static void bad_unary_type(struct operands *o)
{
    rt_unary(o->rt, RT_SQRT, o->i4, o->i4);
}
static void bad_broadcast(struct operands *o)
{
    rt_binary(o->rt, RT_ADD, o->f24, o->f24, o->f3);
}
static void bad_broadcast_dst(struct operands *o)
{
    rt_binary(o->rt, RT_MUL, o->f35, o->f24, o->f24);
}
static void bad_broadcast_alias(struct operands *o)
{
    pkb_tensor *row = rt_view(o->rt, rt_rows(o->rt, o->f24, 0, 1), RT_SHAPE(4));
    rt_binary(o->rt, RT_SUB, o->f24, o->f24, row);
}
static void bad_scalar(struct operands *o)
{
    rt_binary_scalar(o->rt, RT_MUL, o->i4, o->i4, 0.5);
}
static void bad_divide(struct operands *o)
{
    rt_fill(o->rt, o->i4, 0);
    rt_binary(o->rt, RT_FLOORDIV, o->i4, o->i4, o->i4);
}
static void bad_axis(struct operands *o)
{
    rt_reduce_axis(o->rt, RT_SUM, o->f2, o->f24, 2);
}
static void bad_axis_shape(struct operands *o)
{
    rt_reduce_axis(o->rt, RT_SUM, o->f3, o->f24, 1);
}
static void bad_axis_empty(struct operands *o)
{
    rt_reduce_axis(o->rt, RT_AMAX, o->scalar, rt_rows(o->rt, o->f3, 0, 0), 0);
}
static void bad_inner(struct operands *o)
{
    rt_matmul(o->rt, o->f48, o->f24, false, o->f35, false);
}
static void bad_product_shape(struct operands *o)
{
    rt_matmul(o->rt, o->f35, o->f24, true, rt_new(o->rt, PKB_F32, RT_SHAPE(2, 5)), false);
}
static void bad_product_type(struct operands *o)
{
    rt_matmul(o->rt, o->f48, o->f24, true, o->b24, false);
}
static void bad_product_dims(struct operands *o)
{
    rt_matmul(o->rt, o->f3, o->f24, false, o->f2, false);
}
static void bad_stack(struct operands *o)
{
    rt_matmul(o->rt, rt_new(o->rt, PKB_F32, RT_SHAPE(3, 2, 2)), o->f222, false, rt_new(o->rt, PKB_F32, RT_SHAPE(3, 2, 2)), false);
}
static void bad_permute(struct operands *o)
{
    rt_permute(o->rt, o->f24, o->f24, (int[]){0, 0});
}
static void bad_permute_shape(struct operands *o)
{
    rt_permute(o->rt, o->f35, o->f24, (int[]){1, 0});
}
static void bad_concat(struct operands *o)
{
    const pkb_tensor *parts[] = {o->f24, o->f35};
    rt_concat(o->rt, o->f48, 2, parts, 0);
}
static void bad_concat_filled(struct operands *o)
{
    const pkb_tensor *parts[] = {o->f3};
    rt_concat(o->rt, rt_new(o->rt, PKB_F32, RT_SHAPE(4)), 1, parts, -1);
}
static void bad_take_type(struct operands *o)
{
    rt_take_rows(o->rt, o->f24, o->f24, o->f2);
}
static void bad_take_range(struct operands *o)
{
    rt_fill(o->rt, o->i4, 2);
    rt_take_rows(o->rt, rt_new(o->rt, PKB_F32, RT_SHAPE(4, 4)), o->f24, o->i4);
}
static void bad_take_negative(struct operands *o)
{
    rt_fill(o->rt, o->i64_4, -1);
    rt_take_rows(o->rt, rt_new(o->rt, PKB_F32, RT_SHAPE(4, 4)), o->f24, o->i64_4);
}
static void bad_argsort(struct operands *o)
{
    rt_argsort(o->rt, o->i4, rt_new(o->rt, PKB_F32, RT_SHAPE(4)));
}
static void bad_bincount(struct operands *o)
{
    rt_fill(o->rt, o->i4, 4);
    rt_bincount(o->rt, o->i64_4, o->i4);
}
static void bad_diagonal(struct operands *o)
{
    rt_diagonal(o->rt, o->f3, o->f24);
}
static void bad_event(struct operands *o)
{
    rt_event_record(o->rt, 0);
}
static void bad_elapsed(struct operands *o)
{
    rt_event_elapsed_ns(o->rt, 0, 1);
}
static void bad_group(struct operands *o)
{
    rt_group(o->rt, 1, (int[]){1});
}
static void bad_group_size(struct operands *o)
{
    rt_group(o->rt, 2, (int[]){0, 0});
}
static void bad_root(struct operands *o)
{
    rt_broadcast(o->rt, rt_world(o->rt), o->f3, 1);
}
static void bad_no_group(struct operands *o)
{
    rt_all_reduce(o->rt, NULL, RT_SUM, o->f3, o->f3);
}
static void bad_all_reduce(struct operands *o)
{
    rt_all_reduce(o->rt, rt_world(o->rt), RT_SUM, o->f3, o->f2);
}
static void bad_reduction(struct operands *o)
{
    rt_all_reduce(o->rt, rt_world(o->rt), (enum rt_reduction)99, o->f3, o->f3);
}
static void bad_gather_type(struct operands *o)
{
    rt_all_gather(o->rt, rt_world(o->rt), o->b24, o->f24);
}
static void bad_scatter(struct operands *o)
{
    rt_scatter(o->rt, rt_world(o->rt), o->f3, NULL, 0);
}
static void bad_rows_v(struct operands *o)
{
    int64_t rows[1] = {3};
    rt_all_to_all_v(o->rt, rt_world(o->rt), rt_new_like(o->rt, PKB_F32, o->f24), rows, o->f24, rows);
}
static void bad_rows_v_negative(struct operands *o)
{
    int64_t rows[1] = {-1};
    rt_all_to_all_v(o->rt, rt_world(o->rt), rt_new_like(o->rt, PKB_F32, o->f24), rows, o->f24, rows);
}
static void bad_p2p_end(struct operands *o)
{
    rt_p2p_end(o->rt);
}
static void bad_p2p_begin(struct operands *o)
{
    rt_p2p_begin(o->rt);
    rt_p2p_begin(o->rt);
}
static void bad_send_alone(struct operands *o)
{
    rt_send(o->rt, rt_world(o->rt), o->f3, 0);
}
static void bad_send_pair(struct operands *o)
{
    rt_p2p_begin(o->rt);
    rt_send(o->rt, rt_world(o->rt), o->f3, 0);
    rt_recv(o->rt, rt_world(o->rt), o->f2, 0);
    rt_p2p_end(o->rt);
}

static const struct {
    bad_call *call;
    const char *text;
} bad_calls[] = {
    {bad_new_dims, "new: 9 dimensions, the most is 8"},
    {bad_new_negative, "new: dimension 1 is -1"},
    {bad_new_dtype, "new: 42 is no dtype"},
    {bad_new_huge, "new: too many bytes"},
    {bad_new_like, "new_like: form is missing"},
    {bad_view, "view: f32[2, 4] cannot be seen as f32[3, 3]"},
    {bad_rows, "rows: 2 from row 1 on of f32[2, 4]"},
    {bad_rows_overflow, "rows: 9223372036854775807 from row 1 on of f32[2, 4]"},
    {bad_entry, "entry: a scalar has no rows"},
    {bad_copy, "copy: destination is f32[2, 4], source f32[3]"},
    {bad_copy_missing, "copy: source is missing"},
    {bad_fill, "fill: destination is missing"},
    {bad_upload, "upload: destination is missing"},
    {bad_download, "download: source is missing"},
    {bad_read, "read_i64: f32[3] is not an integer tensor"},
    {bad_unary_op, "unary: 99 is no operation"},
    {bad_unary_shape, "exp: destination is f32[3], the operand f32[2]"},
    {bad_unary_type, "sqrt: i32 into i32: needs a floating type"},
    {bad_broadcast, "add: shapes of f32[2, 4] and f32[3] do not broadcast"},
    {bad_broadcast_dst, "mul: destination is f32[3, 5], the operands are f32[2, 4] and f32[2, 4]"},
    {bad_broadcast_alias, "sub: destination f32[2, 4] shares the storage of operand f32[4]"},
    {bad_scalar, "mul: scalar 0.5 is not an integer, the operand is i32[4]"},
    {bad_divide, "floordiv: division by zero"},
    {bad_axis, "sum: axis 2 of f32[2, 4]"},
    {bad_axis_shape, "sum: destination is f32[3], the operand f32[2, 4]"},
    {bad_axis_empty, "amax: of no elements, the operand is f32[0]"},
    {bad_inner, "matmul: inner dimensions 4 and 3 differ"},
    {bad_product_shape, "matmul: destination is f32[3, 5], the product 4 x 5"},
    {bad_product_type, "matmul: operands are f32 and bf16"},
    {bad_product_dims, "matmul: f32[3] = f32[2, 4] * f32[2]: matrices or equal stacks of them are needed"},
    {bad_stack, "matmul: stacks differ: f32[3, 2, 2] = f32[2, 2, 2] * f32[3, 2, 2]"},
    {bad_permute, "permute: the order of dimensions is not a permutation of 0..1"},
    {bad_permute_shape, "permute: destination is f32[3, 5], the result f32[4, 2]"},
    {bad_concat, "concat: part f32[2, 4] does not fit into f32[4, 8] along axis 0"},
    {bad_concat_filled, "concat: parts fill 3 of 4 along axis 0"},
    {bad_take_type, "take_rows: index is f32[2], i32 or i64 is needed"},
    {bad_take_range, "take_rows: index[0] is 2, the table has 2 rows"},
    {bad_take_negative, "take_rows: index[0] is -1, the table has 2 rows"},
    {bad_argsort, "argsort: order is i32[4], keys f32[4]"},
    {bad_bincount, "bincount: values[0] is 4, there are 4 counts"},
    {bad_diagonal, "diagonal: f32[3] is not the diagonal of f32[2, 4]"},
    {bad_event, "event_record: event 0 of 0"},
    {bad_elapsed, "event_elapsed: events 0 and 1 of 0"},
    {bad_group, "group: rank 1 is not in 0..0"},
    {bad_group_size, "group: 2 members in a world of 1"},
    {bad_root, "broadcast: root 1 in a group of 1"},
    {bad_no_group, "all_reduce: group is missing"},
    {bad_all_reduce, "all_reduce: destination is f32[3], source f32[2]"},
    {bad_reduction, "all_reduce: 99 is no reduction"},
    {bad_gather_type, "all_gather: destination is bf16[2, 4], source f32[2, 4]"},
    {bad_scatter, "scatter: source is missing"},
    {bad_rows_v, "all_to_all_v: destination is f32[2, 4], the rows for its 1 members are more"},
    {bad_rows_v_negative, "all_to_all_v: destination: -1 rows for member 0"},
    {bad_p2p_end, "p2p_end: without rt_p2p_begin"},
    {bad_p2p_begin, "p2p_begin: within rt_p2p_begin"},
    {bad_send_alone, "p2p_end: 1 sends to this rank itself, 0 receives"},
    {bad_send_pair, "p2p_end: a send of f32[3] to this rank itself meets a receive of f32[2]"},
};

static void test_bad_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad_calls) / sizeof(bad_calls[0]); i++) {
        struct pkb_error err = {"no failure"};
        struct rt *rt = open_alone();
        struct operands o = {
            .rt = rt,
            .f24 = rt_new(rt, PKB_F32, RT_SHAPE(2, 4)),
            .f35 = rt_new(rt, PKB_F32, RT_SHAPE(3, 5)),
            .f48 = rt_new(rt, PKB_F32, RT_SHAPE(4, 8)),
            .f222 = rt_new(rt, PKB_F32, RT_SHAPE(2, 2, 2)),
            .f3 = rt_new(rt, PKB_F32, RT_SHAPE(3)),
            .f2 = rt_new(rt, PKB_F32, RT_SHAPE(2)),
            .scalar = rt_new(rt, PKB_F32, RT_SCALAR),
            .i4 = rt_new(rt, PKB_I32, RT_SHAPE(4)),
            .i64_4 = rt_new(rt, PKB_I64, RT_SHAPE(4)),
            .b24 = rt_new(rt, PKB_BF16, RT_SHAPE(2, 4)),
        };
        assert_int_equal(rt_status(rt, &err), 0);
        bad_calls[i].call(&o);
        (void)rt_status(rt, &err);
        assert_string_equal(err.text, bad_calls[i].text);
        rt_close(rt);
    }
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
        cmocka_unit_test(test_bad_calls),     cmocka_unit_test(test_alone),  cmocka_unit_test(test_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
