/* SPDX-License-Identifier: Apache-2.0 */
/* Every check of an operation's operands: one bad call each, and the text that it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/refused.h"

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
    rt_matmul(o->rt, o->f48, o->f24, true, o->bf24, false);
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
    rt_all_gather(o->rt, rt_world(o->rt), o->bf24, o->f24);
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

static const struct refused_row bad_calls[] = {
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
    {bad_take_range, "take_rows: index[0] is 2, there are 2 entries"},
    {bad_take_negative, "take_rows: index[0] is -1, there are 2 entries"},
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
    refused_check(bad_calls, sizeof(bad_calls) / sizeof(bad_calls[0]));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_bad_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
