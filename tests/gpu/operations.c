/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation in every element type, on odd shapes, against the host backend. */
#include <stdio.h>

#include "tests/gpu/cases.h"

/* ---- calls --------------------------------------------------------------------------------------------------------- */

static void call_copy(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_copy(rt, dst, in[0]);
}

static void call_fill(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)in;
    rt_fill(rt, dst, c->scalar);
}

static void call_unary(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_unary(rt, (enum rt_unary)c->op, dst, in[0]);
}

static void call_binary(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_binary(rt, (enum rt_binary)c->op, dst, in[0], in[1]);
}

static void call_scalar(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_binary_scalar(rt, (enum rt_binary)c->op, dst, in[0], c->scalar);
}

static void call_reduce(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_reduce_axis(rt, (enum rt_reduction)c->op, dst, in[0], c->axis);
}

static void call_matmul(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_matmul(rt, dst, in[0], c->trans_a, in[1], c->trans_b);
}

static void call_permute(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_permute(rt, dst, in[0], c->order);
}

static void call_concat(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    const pkb_tensor *parts[OPERANDS] = {in[0], in[1], in[2]};
    rt_concat(rt, dst, c->n_in, parts, c->axis);
}

static void call_diagonal(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    (void)c;
    rt_diagonal(rt, dst, in[0]);
}

/* ---- groups of cases ----------------------------------------------------------------------------------------------- */

static void copies(const struct gpu_pair *pair)
{
    static const int64_t sizes[] = {0, 1, 255, 70001};
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        for (int to = 0; to < PKB_DTYPE_COUNT; to++) {
            for (size_t i = 0; i < 4; i++) {
                struct op_case c = {"copy", call_copy, .n_in = 1, .in = {FORM(from, sizes[i])}, .dst = FORM(to, sizes[i])};
                run_case(pair, &c);
            }
        }
        static const double scalars[] = {0, 1, -2.7, 1e9, 1e-9, 70000};
        for (size_t i = 0; i < 6; i++) {
            struct op_case c = {"fill", call_fill, .scalar = scalars[i], .dst = FORM(from, 33, 5)};
            run_case(pair, &c);
        }
    }
}

/* All bit patterns of the 16-bit and 8-bit types into all types. */
static void patterns(const struct gpu_pair *pair)
{
    for (int from = 0; from < PKB_DTYPE_COUNT; from++) {
        int64_t count = dtype_size(from) <= 2 ? 65536 : 131072 / (int64_t)dtype_size(from);
        for (int to = 0; to < PKB_DTYPE_COUNT; to++) {
            struct op_case c = {
                "bits", call_copy, .n_in = 1, .values = VALUES_BITS, .in = {FORM(from, count)}, .dst = FORM(to, count)};
            run_case(pair, &c);
        }
    }
}

static void unaries(const struct gpu_pair *pair)
{
    for (int op = 0; op < RT_UNARY_COUNT; op++) {
        bool simple = op == RT_NEG || op == RT_ABS || op == RT_SQUARE,
             exact = simple || op == RT_SQRT || (op >= RT_FLOOR && op <= RT_RINT);
        for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
            int to[] = {type, PKB_F32, PKB_F64, PKB_I32};
            for (int k = 0; k < 4; k++) {
                if (!simple && !dtype_is_float(type) && !dtype_is_float(to[k]))
                    continue;
                if (!exact && !dtype_is_float(to[k]))
                    continue; /* a difference in the last place can be one integer */
                struct op_case c = {"unary",
                                    call_unary,
                                    .n_in = 1,
                                    .op = op,
                                    .values = VALUES_POSITIVE,
                                    .in = {FORM(type, 7, 311)},
                                    .dst = FORM(to[k], 7, 311),
                                    .tolerance = tolerance_of(to[k], exact)};
                run_case(pair, &c);
            }
        }
    }
}

static void binaries(const struct gpu_pair *pair)
{
    for (int op = 0; op < RT_BINARY_COUNT; op++) {
        bool division = op == RT_DIV || op == RT_FLOORDIV || op == RT_MOD;
        for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
            bool integer = !dtype_is_float(type);
            const struct op_case base = {"binary", call_binary, .n_in = 2, .op = op,
                                         .values = division ? VALUES_POSITIVE : VALUES_SIGNED};
            struct op_case c = base;
            if (!(division && integer)) { /* random integers are 0 sometimes */
                c.in[0] = FORM(type, 5, 1, 129), c.in[1] = FORM(type, 3, 1), c.dst = FORM(type, 5, 3, 129);
                run_case(pair, &c);
                c.in[0] = FORM(type, 5, 8, 128), c.in[1] = FORM(type, 8, 1), c.dst = FORM(type, 5, 8, 128);
                run_case(pair, &c);
                c.in[0] = FORM(type, 6, 1, 132), c.in[1] = FORM(PKB_F32, 9, 132), c.dst = FORM(PKB_F32, 6, 9, 132);
                run_case(pair, &c);
                c.in[0] = FORM(type, 4096), c.in[1] = FORM(type, 4096), c.dst = FORM(type, 4096);
                run_case(pair, &c);
                c.in[0] = FORM(type, 1001), c.in[1] = FORM(PKB_F32, 1001), c.dst = FORM(PKB_BF16, 1001);
                run_case(pair, &c);
                c.in[0] = FORM(type, 4, 33), c.in[1] = FORM(type, 1), c.dst = FORM(PKB_F64, 4, 33);
                run_case(pair, &c);
                c.in[0] = FORM(type, 0, 33), c.in[1] = FORM(type, 33), c.dst = FORM(type, 0, 33);
                run_case(pair, &c);
            }
            c.name = "scalar", c.run = call_scalar, c.n_in = 1, c.scalar = integer ? 2 : 1.7;
            c.values = VALUES_SIGNED, c.in[0] = FORM(type, 3, 1, 67), c.dst = FORM(type, 3, 1, 67);
            run_case(pair, &c);
        }
    }
}

static void reductions(const struct gpu_pair *pair)
{
    static const int64_t forms[][3] = {{33, 1000, 64}, {1, 70000, 1}, {9, 4096, 1}, {2, 777, 132}, {1, 1, 1}, {1, 70003, 1},
                                       {37, 129, 1},   {3, 65, 33},   {1, 9000, 7}, {2, 1, 300},   {0, 5, 2}, {5, 4100, 40}};
    for (int op = 0; op < RT_REDUCTION_COUNT; op++) {
        for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
            for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
                const int64_t *f = forms[i];
                int to[] = {type, dtype_is_float(type) ? PKB_F64 : PKB_I64};
                bool sum = op == RT_SUM && dtype_is_float(type);
                if (op == RT_PROD && f[1] > 200 && dtype_is_float(type))
                    continue; /* overflows, or not, with the order */
                for (int k = 0; k < 2; k++) {
                    struct op_case c = {"reduce", call_reduce, .n_in = 1, .op = op, .axis = 1};
                    c.in[0] = FORM(type, f[0], f[1], f[2]), c.dst = FORM(to[k], f[0], f[2]);
                    c.values = op == RT_PROD ? VALUES_EXACT : VALUES_SIGNED;
                    if (sum)
                        c.tolerance = tolerance_of_sum(to[k], f[1]);
                    if (op == RT_PROD && dtype_is_float(type))
                        c.tolerance = (struct gpu_tolerance){2 * dtype_roundoff(to[k]) + 1e-5, 0};
                    run_case(pair, &c);
                }
            }
        }
    }
    struct op_case all = {"reduce",
                          call_reduce,
                          .n_in = 1,
                          .axis = RT_ALL_AXES,
                          .in = {FORM(PKB_BF16, 33, 1025)},
                          .dst = {.dtype = PKB_F32},
                          .tolerance = tolerance_of_sum(PKB_F32, 33 * 1025)};
    run_case(pair, &all);
}

static void products(const struct gpu_pair *pair)
{
    static const int64_t forms[][4] = {{1, 1, 1, 1},  {1, 64, 48, 32}, {1, 33, 65, 129},
                                       {3, 17, 9, 5}, {2, 4, 4, 0},    {1, 1, 300, 7}};
    for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
        for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
            for (int trans = 0; trans < 4; trans++) {
                int to[] = {type, PKB_F32, PKB_F64};
                const int64_t *f = forms[i];
                struct op_case c = {"matmul", call_matmul, .n_in = 2, .trans_a = trans & 1, .trans_b = trans & 2};
                c.in[0] = c.trans_a ? FORM(type, f[0], f[3], f[1]) : FORM(type, f[0], f[1], f[3]);
                c.in[1] = c.trans_b ? FORM(type, f[0], f[2], f[3]) : FORM(type, f[0], f[3], f[2]);
                for (int k = 0; k < 3; k++) {
                    bool wide = to[k] == PKB_F64;
                    c.dst = FORM(to[k], f[0], f[1], f[2]);
                    c.tolerance = dtype_is_float(type) ? tolerance_of_sum(to[k], f[3]) : (struct gpu_tolerance){0, 0};
                    if (wide && type == PKB_F64)
                        c.tolerance.absolute *= 4;
                    run_case(pair, &c);
                }
            }
        }
    }
}

static void rearrangements(const struct gpu_pair *pair)
{
    for (int type = 0; type < PKB_DTYPE_COUNT; type++) {
        struct op_case c = {"permute",
                            call_permute,
                            .n_in = 1,
                            .in = {FORM(type, 3, 5, 7, 11)},
                            .order = {2, 0, 3, 1},
                            .dst = FORM(type, 7, 3, 11, 5)};
        run_case(pair, &c);
        struct op_case t = {
            "permute", call_permute, .n_in = 1, .in = {FORM(type, 65, 129)}, .order = {1, 0}, .dst = FORM(type, 129, 65)};
        run_case(pair, &t);
        struct op_case p = {"permute",
                            call_permute,
                            .n_in = 1,
                            .in = {FORM(type, 3, 40, 2, 65)},
                            .order = {3, 0, 2, 1},
                            .dst = FORM(type, 65, 3, 2, 40)};
        run_case(pair, &p);
        struct op_case q = {"permute",
                            call_permute,
                            .n_in = 1,
                            .in = {FORM(type, 3, 33, 64, 5)},
                            .order = {0, 2, 1, 3},
                            .dst = FORM(type, 3, 64, 33, 5)};
        run_case(pair, &q);
        /* Runs of 8, 6 and 2 that keep together: elements are moved as wider ones. */
        for (int run = 2; run <= 8; run += run == 2 ? 4 : 2) {
            struct op_case w = {"permute",
                                call_permute,
                                .n_in = 1,
                                .in = {FORM(type, 3, 70, 33, run)},
                                .order = {0, 2, 1, 3},
                                .dst = FORM(type, 3, 33, 70, run)};
            run_case(pair, &w);
        }
        struct op_case k = {"concat",
                            call_concat,
                            .n_in = 3,
                            .axis = 1,
                            .dst = FORM(type, 4, 9, 3),
                            .in = {FORM(type, 4, 2, 3), FORM(type, 4, 0, 3), FORM(type, 4, 7, 3)}};
        run_case(pair, &k);
        struct op_case d = {"diagonal", call_diagonal, .n_in = 1, .in = {FORM(type, 33, 41)}, .dst = FORM(type, 33)};
        run_case(pair, &d);
    }
}

/* Events measure what runs between them. */
static void events(struct rt *rt)
{
    struct pkb_error err = {""};
    pkb_tensor *big = rt_new(rt, PKB_F32, RT_SHAPE(1 << 26));
    int rc = rt_events(rt, 2, &err);
    rt_event_record(rt, 0);
    rt_fill(rt, big, 1);
    rt_event_record(rt, 1);
    rc = rc ? rc : rt_sync(rt, &err);
    double ns = rt_event_elapsed_ns(rt, 0, 1);
    gpu_check(rc == 0 && ns > 1e4 && ns < 1e9, "events: a fill of 256 MiB took %.0f ns: %s", ns, err.text);
    printf("%s: fill of 256 MiB %.1f us, cache %zu bytes\n", rt_device_name(rt), ns * 1e-3, rt_cache_bytes(rt));
    rt_release_all(rt);
}

void cases_of_arithmetic(const struct gpu_pair *pair)
{
    copies(pair);
    patterns(pair);
    unaries(pair);
    binaries(pair);
    reductions(pair);
    products(pair);
    rearrangements(pair);
}

static int all_operations(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    struct gpu_pair pair;
    (void)arg;
    int rc = gpu_open_pair(o, &pair, err);
    if (rc == 0) {
        cases_of_arithmetic(&pair);
        cases_of_rows(&pair);
        cases_of_lookups(&pair);
        cases_of_transforms(&pair);
        events(pair.cuda);
        rc = rt_sync(pair.cuda, err);
    }
    gpu_close_pair(&pair);
    return rc;
}

/* A sample, for tools under which everything takes long. */
void test_kernels(void)
{
    set_case_stride(29);
    gpu_world("kernels", 1, "nccl", all_operations, NULL);
    set_case_stride(1);
}

void test_operations(void)
{
    gpu_world("operations", 1, "nccl", all_operations, NULL);
}
