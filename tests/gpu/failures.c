/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong is said, and nobody waits for ever. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"
#include "util/clock.h"

/* The runtime's failure after a wait contains the text; the runtime is closed. */
static void expect_failure(struct rt *rt, const char *text)
{
    struct pkb_error err = {""};
    int rc = rt_sync(rt, &err);
    gpu_check(rc != 0 && strstr(err.text, text), "expected \"%s\", got \"%s\"", text, rc ? err.text : "success");
    rt_close(rt);
}

static pkb_tensor *integers(struct rt *rt, int64_t n, const int64_t *values)
{
    pkb_tensor *t = rt_new(rt, PKB_I64, RT_SHAPE(n));
    rt_upload(rt, t, values);
    return t;
}

static void bad_index(struct rt *rt)
{
    static const int64_t index[] = {0, 3, 5, 1};
    pkb_tensor *table = rt_new(rt, PKB_F32, RT_SHAPE(5, 7)), *dst = rt_new(rt, PKB_F32, RT_SHAPE(4, 7));
    rt_fill(rt, table, 1);
    rt_take_rows(rt, dst, table, integers(rt, 4, index));
    expect_failure(rt, "take: index[2] is 5, there are 5 entries");
}

static void bad_places(struct rt *rt)
{
    static const int64_t index[] = {0, 3, -4, 1};
    rt_take_along(rt, rt_new(rt, PKB_F32, RT_SHAPE(4)), rt_new(rt, PKB_F32, RT_SHAPE(5)), integers(rt, 4, index));
    expect_failure(rt, "take_along: index[2] is -4, there are 5 entries");
}

static void bad_put(struct rt *rt)
{
    static const int64_t index[] = {0, 5};
    rt_put_rows(rt, rt_new(rt, PKB_BF16, RT_SHAPE(5, 300)), rt_new(rt, PKB_BF16, RT_SHAPE(2, 300)), integers(rt, 2, index));
    expect_failure(rt, "put_rows: index[1] is 5, there are 5 entries");
}

static void bad_sum(struct rt *rt)
{
    static const int64_t index[] = {0, 5};
    rt_add_rows(rt, rt_new(rt, PKB_F32, RT_SHAPE(5, 300)), rt_new(rt, PKB_F32, RT_SHAPE(2, 300)), integers(rt, 2, index));
    expect_failure(rt, "add_rows: index[1] is 5, there are 5 entries");
}

static void bad_modulus(struct rt *rt)
{
    static const int64_t values[] = {4, 0, 2};
    pkb_tensor *t = integers(rt, 3, values);
    rt_binary(rt, RT_MOD, rt_new(rt, PKB_I64, RT_SHAPE(3)), t, t);
    expect_failure(rt, "division by zero");
}

static void bad_count(struct rt *rt)
{
    static const int64_t values[] = {0, 2, -1};
    rt_bincount(rt, rt_new(rt, PKB_I64, RT_SHAPE(3)), integers(rt, 3, values));
    expect_failure(rt, "bincount: values[2] is -1, there are 3 counts");
}

static void bad_divisor(struct rt *rt)
{
    static const int64_t values[] = {4, 0, 2};
    pkb_tensor *t = integers(rt, 3, values);
    rt_binary(rt, RT_FLOORDIV, rt_new(rt, PKB_I64, RT_SHAPE(3)), t, t);
    expect_failure(rt, "division by zero");
}

static void bad_scalar_divisor(struct rt *rt)
{
    static const int64_t values[] = {4, 0, 2};
    pkb_tensor *t = integers(rt, 3, values);
    rt_binary_scalar(rt, RT_DIV, t, t, 0);
    expect_failure(rt, "division by zero");
}

static void bad_shape(struct rt *rt)
{
    rt_matmul(rt, rt_new(rt, PKB_F32, RT_SHAPE(2, 2)), rt_new(rt, PKB_F32, RT_SHAPE(2, 3)), false,
              rt_new(rt, PKB_F32, RT_SHAPE(4, 2)), false);
    expect_failure(rt, "matmul: inner dimensions 3 and 4 differ");
}

static void no_memory(struct rt *rt)
{
    (void)rt_new(rt, PKB_F32, RT_SHAPE((int64_t)1 << 42));
    expect_failure(rt, "out of memory for");
}

static int run_alone(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    static void (*const cases[])(struct rt *) = {bad_index,   bad_places,         bad_put,   bad_sum,  bad_count, bad_divisor,
                                                 bad_modulus, bad_scalar_divisor, bad_shape, no_memory};
    (void)arg;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rt *rt = rt_open("cuda", o, err);
        if (!rt)
            return -1;
        cases[i](rt);
    }
    struct rt_options wrong = *o;
    struct pkb_error why = {""};
    wrong.device = 1000;
    struct rt *rt = rt_open("cuda", &wrong, &why);
    gpu_check(!rt && strstr(why.text, "GPU 1000 of"), "GPU 1000: %s", why.text);
    rt_close(rt);
    (void)setenv("PKB_COMM", "pigeons", 1);
    rt = rt_open("cuda", o, &why);
    gpu_check(!rt && strstr(why.text, "PKB_COMM=pigeons: expected nccl or staged"), "PKB_COMM=pigeons: %s", why.text);
    rt_close(rt);
    return 0;
}

/* A foreign kernel that has written where nothing is: this process's device is lost, and says so. */
static int run_illegal(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    pkb_tensor nowhere = {(void *)(uintptr_t)0x100000, PKB_F32, 1, {1000}};
    struct rt *rt = rt_open("cuda", o, err);
    (void)arg;
    if (!rt)
        return -1;
    rt_fill(rt, &nowhere, 1);
    expect_failure(rt, "illegal memory access");
    return 0;
}

/* The peer never comes to the barrier: it ends all the same, and the next world finds a usable GPU. */
static int run_missing_peer(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    pkb_symm symm;
    struct pkb_error why = {""};
    (void)arg;
    if (setenv("PKB_COMM_TIMEOUT", "2", 1))
        return pkb_error_errno(err, "environment");
    struct rt *rt = rt_open("cuda", o, err);
    if (!rt || rt_symm_alloc(rt, 4096, &symm, err))
        return -1;
    if (o->rank == 1)
        _exit(0); /* without a word */
    int64_t start = pkb_now_ns();
    rt_symm_barrier(rt);
    int rc = rt_sync(rt, &why);
    double seconds = (double)(pkb_now_ns() - start) * 1e-9;
    gpu_check(rc != 0 && strstr(why.text, "symm_barrier: rank 1 has not come") && seconds < 20,
              "barrier with a missing peer: %s after %.1f s", why.text, seconds);
    rt_close(rt);
    return 0;
}

static void missing_peer(void)
{
    struct world_rank ranks[2];
    struct world_spec spec = {.world = 2, .seconds = 60, .raw = run_missing_peer};
    struct pkb_error err = {""};
    int rc = world_run_each(&spec, ranks, &err);
    gpu_check(rc == 0 && ranks[0].end == WORLD_RETURNED && ranks[0].rc == 0, "missing peer: %s %s", err.text, ranks[0].text);
}

/* Closing does not wait for a peer that will not come. */
static int run_close(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    pkb_symm symm;
    struct rt *rt = rt_open("cuda", o, err);
    (void)arg;
    if (!rt || rt_symm_alloc(rt, 4096, &symm, err))
        return -1;
    int64_t start = pkb_now_ns();
    if (o->rank == 0)
        rt_symm_barrier(rt);
    rt_close(rt);
    double seconds = (double)(pkb_now_ns() - start) * 1e-9;
    gpu_check(seconds < 10, "closing with a barrier under way took %.1f s", seconds);
    return 0;
}

void test_illegal(void)
{
    gpu_world("illegal address", 1, "nccl", run_illegal, NULL);
}

void test_failures(void)
{
    gpu_world("failures", 1, "nccl", run_alone, NULL);
    test_illegal();
    missing_peer();
    gpu_world("closing", 2, "staged", run_close, NULL);
}
