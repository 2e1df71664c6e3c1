/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups, moves and sums of rows, sorting, searching, counting. */
#include "tests/gpu/cases.h"

/* n places below limit, in no order, the same on both backends. */
static pkb_tensor *places(struct rt *rt, int dtype, int ndim, const int64_t *shape, int64_t limit)
{
    pkb_tensor *t = rt_new(rt, dtype, ndim, shape);
    rt_iota(rt, t, 11, 7919);
    rt_binary_scalar(rt, RT_MOD, t, t, (double)limit);
    return t;
}

static int index_type(int type)
{
    return type % 2 ? PKB_I32 : PKB_I64;
}

/* ---- taking, putting ----------------------------------------------------------------------------------------------- */

static void call_take_rows(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_take_rows(rt, dst, in[0], in[1]);
}

static void call_take(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    int64_t n = c->dst.shape[c->axis];
    rt_take(rt, dst, in[0], places(rt, index_type(c->dst.dtype), RT_SHAPE(n), c->in[0].shape[c->axis]), c->axis);
}

static void call_take_along(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    pkb_tensor *index = places(rt, index_type(c->dst.dtype), c->dst.ndim, c->dst.shape, c->in[0].shape[c->dst.ndim - 1]);
    rt_take_along(rt, dst, in[0], index);
}

/* The order of random keys has every place once. */
static void call_put_rows(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    pkb_tensor *order = rt_new_like(rt, PKB_I64, in[2]), *narrow = rt_new_like(rt, index_type(c->dst.dtype), in[2]);
    rt_argsort(rt, order, in[2]);
    rt_copy(rt, narrow, order);
    rt_copy(rt, dst, in[0]);
    rt_put_rows(rt, dst, in[1], rt_rows(rt, narrow, 0, c->in[1].shape[0]));
}

static void takes(const struct gpu_pair *pair, int type)
{
    static const int64_t rows[] = {1, 3, 16, 129, 4096};
    for (size_t i = 0; i < 5; i++) {
        struct op_case c = {"take_rows", call_take_rows, .n_in = 2, .values = VALUES_POSITIVE, .dst = FORM(type, 77, rows[i])};
        c.in[0] = FORM(type, 5, rows[i]), c.in[1] = FORM(index_type((int)i), 77);
        run_case(pair, &c);
        for (int axis = 0; axis < 3; axis++) {
            struct op_case t = {"take", call_take, .n_in = 1, .axis = axis, .in = {FORM(type, 4, 9, rows[i])}};
            t.dst = t.in[0];
            t.dst.shape[axis] = 33;
            run_case(pair, &t);
            t.dst.shape[axis] = 0;
            run_case(pair, &t);
        }
        struct op_case p = {"put_rows", call_put_rows, .n_in = 3};
        p.in[0] = p.dst = FORM(type, 50, rows[i]), p.in[1] = FORM(type, 30, rows[i]), p.in[2] = FORM(PKB_F32, 50);
        run_case(pair, &p);
        p.in[1] = FORM(type, 0, rows[i]);
        run_case(pair, &p);
    }
    static const int64_t along[][3] = {{1, 9, 4}, {1, 1, 70001}, {7, 300, 50}, {3000, 2, 3}, {0, 4, 4}};
    for (size_t i = 0; i < 5; i++) {
        struct op_case c = {"take_along", call_take_along, .n_in = 1, .in = {FORM(type, along[i][0], along[i][1])},
                            .dst = FORM(type, along[i][0], along[i][2])};
        run_case(pair, &c);
    }
}

/* ---- sums of rows -------------------------------------------------------------------------------------------------- */

static void call_add_rows(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_copy(rt, dst, in[0]);
    rt_add_rows(rt, dst, in[1], places(rt, index_type(c->dst.dtype), RT_SHAPE(c->in[1].shape[0]), c->limit));
}

static void sums(const struct gpu_pair *pair, int type)
{
    static const struct {
        int64_t rows, limit, n, row;
    } forms[] = {{50, 50, 400, 1}, {50, 40, 400, 129}, {1, 1, 3000, 7},      {100000, 90000, 5, 4}, {3, 3, 0, 4},
                 {3, 3, 4, 0},     {64, 64, 64, 1000}, {1000, 10, 9001, 33}, {2, 2, 2, 128}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        int from[] = {type, dtype_is_float(type) ? PKB_F32 : PKB_BOOL};
        for (int k = 0; k < 2; k++) {
            struct op_case c = {"add_rows", call_add_rows, .n_in = 2, .limit = forms[i].limit};
            c.in[0] = c.dst = FORM(type, forms[i].rows, forms[i].row), c.in[1] = FORM(from[k], forms[i].n, forms[i].row);
            if (dtype_is_float(type))
                c.tolerance = tolerance_of_sum(type, forms[i].n / forms[i].limit + 2);
            run_case(pair, &c);
        }
    }
}

/* ---- sorting, searching -------------------------------------------------------------------------------------------- */

static void call_argsort(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_argsort(rt, dst, in[0]);
}

static void call_search(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    pkb_tensor *order = rt_new_like(rt, PKB_I64, in[0]), *sorted = rt_new_like(rt, in[0]->dtype, in[0]);
    rt_argsort(rt, order, in[0]);
    rt_take_rows(rt, sorted, in[0], order);
    rt_search_sorted(rt, dst, sorted, in[1], c->right);
}

static void sorts(const struct gpu_pair *pair, int type)
{
    static const enum gpu_values values[] = {VALUES_SIGNED, VALUES_EXACT, VALUES_BITS}; /* equal keys, -0, NaN */
    static const int64_t forms[][2] = {{1, 0},    {1, 1}, {1, 1000}, {1, 30011}, {40, 33},  {600, 1},
                                       {3000, 7}, {0, 3}, {3, 0},    {2, 32768}, {1, 65536}};
    for (size_t v = 0; v < 3; v++) {
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            struct op_case c = {"argsort", call_argsort, .n_in = 1, .values = values[v]};
            c.in[0] = FORM(type, forms[i][0], forms[i][1]), c.dst = FORM(PKB_I64, forms[i][0], forms[i][1]);
            run_case(pair, &c);
        }
        static const int64_t tables[] = {0, 1, 1000, 20000};
        for (size_t i = 0; i < 8; i++) {
            struct op_case c = {"search_sorted", call_search, .n_in = 2, .values = values[v], .right = i % 2};
            c.in[0] = FORM(type, tables[i / 2]), c.in[1] = FORM(type, 2, 32768), c.dst = FORM(PKB_I64, 2, 32768);
            run_case(pair, &c);
        }
    }
}

/* ---- counting ------------------------------------------------------------------------------------------------------ */

static void call_bincount(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_bincount(rt, dst, in[0]);
}

static void counts(const struct gpu_pair *pair)
{
    static const int types[] = {PKB_I32, PKB_I64, PKB_U8};
    for (int i = 0; i < 3; i++) {
        struct op_case c = {"bincount",
                            call_bincount,
                            .n_in = 1,
                            .values = VALUES_POSITIVE,
                            .in = {FORM(types[i], 40007)},
                            .dst = FORM(PKB_I64, 4)};
        run_case(pair, &c);
        c.in[0] = FORM(types[i], 0);
        run_case(pair, &c);
    }
}

void cases_of_lookups(const struct gpu_pair *pair)
{
    for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
        takes(pair, type);
        sums(pair, type);
        sorts(pair, type);
    }
    counts(pair);
}
