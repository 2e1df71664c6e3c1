/* SPDX-License-Identifier: Apache-2.0 */
/* Selections, counting tensors, operations along rows, ranges of an axis. */
#include <math.h>

#include "tests/gpu/cases.h"

/* ---- selections ---------------------------------------------------------------------------------------------------- */

static void call_where(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_where(rt, dst, in[0], in[1], in[2]);
}

/* Operands that do not start where groups of elements can. */
static void call_where_shifted(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    int64_t n = c->dst.shape[0];
    rt_where(rt, dst, rt_rows(rt, in[0], 3, n), rt_rows(rt, in[1], 1, n), in[2]);
}

static void call_iota(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)in;
    rt_iota(rt, dst, c->scalar, c->step);
}

static void selections(const struct gpu_pair *pair, int condition, int type)
{
    struct op_case c = {"where", call_where, .n_in = 3, .values = VALUES_EXACT};
    c.in[0] = FORM(condition, 4096), c.in[1] = FORM(type, 4096), c.in[2] = FORM(type, 1), c.dst = FORM(type, 4096);
    run_case(pair, &c);
    c.in[0] = FORM(condition, 5, 3, 1), c.in[1] = FORM(type, 3, 129), c.in[2] = FORM(type, 5, 1, 129);
    c.dst = FORM(type, 5, 3, 129);
    run_case(pair, &c);
    c.in[0] = FORM(condition, 8, 1), c.in[1] = FORM(type, 5, 8, 128), c.in[2] = FORM(type, 128);
    c.dst = FORM(type, 5, 8, 128);
    run_case(pair, &c);
    c.in[0] = FORM(condition, 8, 128), c.in[1] = FORM(type, 5, 1, 1), c.in[2] = FORM(type, 5, 8, 1);
    run_case(pair, &c);
    c.in[0] = FORM(condition, 0, 7), c.in[1] = FORM(type, 7), c.in[2] = FORM(type, 1), c.dst = FORM(type, 0, 7);
    run_case(pair, &c);
    c.run = call_where_shifted;
    c.in[0] = FORM(condition, 1003), c.in[1] = FORM(type, 1001), c.in[2] = FORM(type, 1000), c.dst = FORM(type, 1000);
    run_case(pair, &c);
}

static void counting(const struct gpu_pair *pair, int type)
{
    static const double integers[][2] = {{0, 1}, {100, -3}, {-5, 0}}, reals[][2] = {{0.5, 0.1}, {-3, 1e-4}, {1e30, 1e28}};
    static const int64_t sizes[] = {0, 1, 70001};
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            struct op_case c = {"iota", call_iota, .scalar = integers[k][0], .step = integers[k][1], .dst = FORM(type, sizes[i])};
            run_case(pair, &c);
            c.scalar = reals[k][0], c.step = reals[k][1];
            if (dtype_is_float(type))
                run_case(pair, &c);
        }
    }
}

/* ---- along rows ---------------------------------------------------------------------------------------------------- */

static const int64_t rows[][2] = {{33, 1000}, {7, 5},    {3, 70001},   {1, 1},    {0, 5},   {5, 0},
                                  {4, 1024},  {4, 1025}, {1, 1300001}, {2000, 8}, {17, 32}, {2, 100003}};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void call_softmax(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_softmax(rt, dst, in[0]);
}

static void call_softmax_in_place(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_copy(rt, dst, in[0]);
    rt_softmax(rt, dst, dst);
}

/* Large numbers, and entries of -infinity, some rows of nothing else. */
static void call_softmax_extremes(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    pkb_tensor *masked = rt_new_like(rt, PKB_BOOL, in[0]), *low = rt_new(rt, PKB_F32, RT_SCALAR);
    (void)c;
    rt_fill(rt, low, -INFINITY);
    rt_binary(rt, RT_LT, masked, in[0], in[1]);
    rt_binary_scalar(rt, RT_MUL, dst, in[0], 1e4);
    rt_where(rt, dst, masked, low, dst);
    rt_softmax(rt, dst, dst);
}

static void softmaxes(const struct gpu_pair *pair, int type)
{
    bool real = dtype_is_float(type);
    int to[] = {real ? type : PKB_BF16, PKB_F32, PKB_F64};
    double least = to[0] == PKB_FP8_E4M3 ? 0x1p-9 : to[0] == PKB_F16 ? 0x1p-23 : 1e-30;
    for (size_t i = 0; i < ROWS; i++) {
        for (int k = 0; k < 3; k++) {
            bool wide = to[k] == PKB_F64;
            struct op_case c = {"softmax", call_softmax, .n_in = 1, .in = {FORM(type, rows[i][0], rows[i][1])}};
            c.dst = FORM(to[k], rows[i][0], rows[i][1]);
            c.tolerance = (struct gpu_tolerance){2 * dtype_roundoff(to[k]) + (wide ? 1e-12 + (double)rows[i][1] * 0x1p-53 : 1e-5),
                                                 k == 0 ? least : 1e-30};
            run_case(pair, &c);
            c.run = call_softmax_in_place;
            if (to[k] == type)
                run_case(pair, &c);
        }
    }
}

static void masked_softmaxes(const struct gpu_pair *pair)
{
    for (size_t i = 0; i < ROWS; i++) {
        struct op_case c = {"softmax extremes", call_softmax_extremes, .n_in = 2, .tolerance = {1e-5, 1e-30}};
        c.in[0] = c.dst = FORM(PKB_F32, rows[i][0], rows[i][1]), c.in[1] = FORM(PKB_F32, rows[i][0], 1);
        run_case(pair, &c);
    }
}

static void call_cumsum(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_cumsum(rt, dst, in[0]);
}

static void call_cumsum_in_place(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_copy(rt, dst, in[0]);
    rt_cumsum(rt, dst, dst);
}

static void running_sums(const struct gpu_pair *pair, int type)
{
    bool real = dtype_is_float(type);
    int to[] = {type, real ? PKB_F64 : PKB_I64, PKB_F32};
    for (size_t i = 0; i < ROWS; i++) {
        for (int k = 0; k < 3; k++) {
            struct op_case c = {"cumsum", call_cumsum, .n_in = 1, .in = {FORM(type, rows[i][0], rows[i][1])}};
            c.dst = FORM(to[k], rows[i][0], rows[i][1]);
            if (real)
                c.tolerance = (struct gpu_tolerance){2 * dtype_roundoff(to[k]) + 1e-12, 1e-9};
            run_case(pair, &c);
            c.run = call_cumsum_in_place;
            if (k == 0)
                run_case(pair, &c);
        }
    }
}

/* ---- ranges -------------------------------------------------------------------------------------------------------- */

static void call_slice(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_slice(rt, dst, in[0], c->axis, c->first);
}

static void call_paste(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_copy(rt, dst, in[0]);
    rt_paste(rt, dst, c->axis, c->first, in[1]);
}

static void ranges(const struct gpu_pair *pair, int type)
{
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t count = 0; count < 4; count++) {
            pkb_tensor whole = FORM(type, 5, 6, 7), part = FORM(type, 5, 6, 7);
            part.shape[axis] = count;
            struct op_case c = {"slice", call_slice, .n_in = 1, .axis = axis, .first = 2, .in = {whole}, .dst = part};
            run_case(pair, &c);
            struct op_case p = {"paste", call_paste, .n_in = 2, .axis = axis - 3, .first = 1, .in = {whole, part}, .dst = whole};
            run_case(pair, &p);
        }
    }
    /* Rows on both sides of those that a kernel moves. */
    for (int64_t count = 400; count < 9000; count *= 3) {
        struct op_case c = {
            "slice", call_slice, .n_in = 1, .axis = 1, .first = 3, .in = {FORM(type, 5, 9000)}, .dst = FORM(type, 5, count)};
        run_case(pair, &c);
    }
}

void cases_of_rows(const struct gpu_pair *pair)
{
    for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
        selections(pair, PKB_BOOL, type);
        selections(pair, type, PKB_BF16);
        counting(pair, type);
        softmaxes(pair, type);
        running_sums(pair, type);
        ranges(pair, type);
    }
    masked_softmaxes(pair);
}
