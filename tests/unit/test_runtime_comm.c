/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives and messages between real processes. Every rank can make every other rank's data, so each checks its own results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/random.h"
#include "tests/support/world_or_fail.h"

#define MOST 70000

static void run_all(world_fn *fn)
{
    static const int worlds[] = {1, 2, 3, 4, 8};
    for (size_t i = 0; i < 5; i++)
        world_or_fail(worlds[i], fn, NULL);
}

/* ---- data ---------------------------------------------------------------------------------------------------------- */

/* What rank `rank` holds: numbers that every dtype can sum without leaving it. */
static void numbers_of(int dtype, int rank, size_t n, void *stored)
{
    struct rng r = rng_make(1, 1, (uint32_t)n, (uint32_t)rank, (uint32_t)dtype);
    if (dtype_is_float(dtype))
        rng_fill_uniform(&r, dtype, stored, n, -2, 2);
    else
        rng_fill_integers(&r, dtype, stored, n, 0, dtype == PKB_BOOL ? 2 : 10);
}

/* Reduction over ranks[0..n), in that order, in f32, f64 or i64, rounded once. */
static void reduce_plainly(enum rt_reduction op, int dtype, const int *ranks, int n_ranks, size_t n, void *out)
{
    static uint8_t stored[MOST * 8];
    static float f[MOST], sf[MOST];
    static double d[MOST], sd[MOST];
    static int64_t k[MOST], sk[MOST];
    for (int r = 0; r < n_ranks; r++) {
        numbers_of(dtype, ranks[r], n, stored);
        dtype_to_f32(dtype, f, stored, n);
        dtype_to_f64(dtype, d, stored, n);
        dtype_to_i64(dtype, k, stored, n);
        for (size_t i = 0; i < n; i++) {
            bool first = r == 0;
#define JOIN(s, x)                                                                                                               \
    (first ? (x) : op == RT_SUM ? (s) + (x) : op == RT_PROD ? (s) * (x) : ((x) < (s)) == (op == RT_AMIN) ? (x) : (s))
            sf[i] = JOIN(sf[i], f[i]);
            sd[i] = JOIN(sd[i], d[i]);
            sk[i] = JOIN(sk[i], k[i]);
#undef JOIN
        }
    }
    if (dtype == PKB_F64)
        dtype_from_f64(dtype, out, sd, n);
    else if (dtype_is_float(dtype))
        dtype_from_f32(dtype, out, sf, n);
    else
        dtype_from_i64(dtype, out, sk, n);
}

static int check_bytes(struct rt *rt, const pkb_tensor *t, const void *want, const char *what, struct pkb_error *err)
{
    static uint8_t got[MOST * 8 * 8];
    size_t bytes;
    if (tensor_bytes(t, &bytes, err))
        return -1;
    rt_download(rt, got, t);
    if (rt_sync(rt, err))
        return -1;
    for (size_t i = 0; i < bytes; i++) {
        if (got[i] != ((const uint8_t *)want)[i])
            return pkb_error_set(err, "%s %s: byte %zu of %zu is %02x, expected %02x", what, dtype_name(t->dtype), i, bytes,
                                 got[i], ((const uint8_t *)want)[i]);
    }
    return 0;
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

static int check_reductions(struct rt *rt, const struct rt_group *g, enum rt_reduction op, int dtype, size_t n,
                            struct pkb_error *err)
{
    static uint8_t stored[MOST * 8], want[MOST * 8];
    size_t part = n / (size_t)g->size, size = dtype_size(dtype);
    int root = (int)n % g->size;
    pkb_tensor *src = rt_new(rt, dtype, RT_SHAPE((int64_t)n)), *dst = rt_new_like(rt, dtype, src);
    reduce_plainly(op, dtype, g->ranks, g->size, n, want);
    numbers_of(dtype, g->ranks[g->rank], n, stored);
    rt_upload(rt, src, stored);
    rt_all_reduce(rt, g, op, dst, src);
    if (check_bytes(rt, dst, want, "all_reduce", err) || check_bytes(rt, src, stored, "source", err))
        return -1;
    rt_reduce(rt, g, op, g->rank == root ? dst : NULL, src, root);
    if (g->rank == root && check_bytes(rt, dst, want, "reduce", err))
        return -1;
    if (part * (size_t)g->size == n) {
        pkb_tensor *mine = rt_new(rt, dtype, RT_SHAPE((int64_t)part));
        rt_reduce_scatter(rt, g, op, mine, src);
        if (check_bytes(rt, mine, want + (size_t)g->rank * part * size, "reduce_scatter", err))
            return -1;
    }
    rt_all_reduce(rt, g, op, src, src);
    if (check_bytes(rt, src, want, "all_reduce in place", err))
        return -1;
    numbers_of(dtype, g->ranks[g->rank], n, stored);
    rt_upload(rt, src, stored);
    rt_reduce(rt, g, op, src, src, root);
    if (check_bytes(rt, src, g->rank == root ? want : stored, "reduce in place", err))
        return -1;
    rt_release_all(rt);
    return 0;
}

static int reductions(struct rt *rt, void *arg, struct pkb_error *err)
{
    static const size_t sizes[] = {0, 1, 5, 24, 1000, 2400, MOST};
    (void)arg;
    for (int dtype = 0; dtype < PKB_DTYPE_COUNT; dtype++) {
        for (int op = 0; op < RT_REDUCTION_COUNT; op++) {
            for (size_t k = 0; k < 7; k++) {
                if (sizes[k] == MOST && op != RT_SUM)
                    continue;
                if (check_reductions(rt, rt_world(rt), (enum rt_reduction)op, dtype, sizes[k], err))
                    return pkb_error_prefix(err, "%zu elements, reduction %d", sizes[k], op);
            }
        }
    }
    return rt_sync(rt, err);
}

static void test_reductions(void **state)
{
    (void)state;
    run_all(reductions);
}

/* ---- movement ------------------------------------------------------------------------------------------------------ */

static uint8_t byte_of(int from, int to, size_t i)
{
    return (uint8_t)(17 * from + 5 * to + 3 * (int)(i % 251) + 1);
}

/* Block that `from` has for `to`. */
static void fill_block(uint8_t *block, int from, int to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        block[i] = byte_of(from, to, i);
}

struct buffers {
    uint8_t *mine, *want; /* world * n bytes */
    pkb_tensor *one, *all, *other;
};

static int check_from_one(struct rt *rt, const struct rt_group *g, size_t n, struct buffers *b, struct pkb_error *err)
{
    for (int root = 0; root < g->size; root++) {
        fill_block(b->want, root, 99, n);
        fill_block(b->mine, g->rank, 99, n);
        rt_upload(rt, b->one, b->mine);
        rt_broadcast(rt, g, b->one, root);
        if (check_bytes(rt, b->one, b->want, "broadcast", err))
            return -1;
        for (int i = 0; i < g->size; i++)
            fill_block(b->mine + (size_t)i * n, root, i, n);
        rt_upload(rt, b->all, b->mine);
        fill_block(b->want, root, g->rank, n);
        rt_scatter(rt, g, b->one, g->rank == root ? b->all : NULL, root);
        if (check_bytes(rt, b->one, b->want, "scatter", err))
            return -1;
    }
    return 0;
}

static int check_from_all(struct rt *rt, const struct rt_group *g, size_t n, struct buffers *b, struct pkb_error *err)
{
    fill_block(b->mine, g->rank, 99, n);
    rt_upload(rt, b->one, b->mine);
    for (int i = 0; i < g->size; i++)
        fill_block(b->want + (size_t)i * n, i, 99, n);
    rt_all_gather(rt, g, b->all, b->one);
    if (check_bytes(rt, b->all, b->want, "all_gather", err))
        return -1;
    for (int root = 0; root < g->size; root++) {
        rt_fill_bytes(rt, b->all, 0);
        rt_gather(rt, g, g->rank == root ? b->all : NULL, b->one, root);
        if (g->rank == root && check_bytes(rt, b->all, b->want, "gather", err))
            return -1;
    }
    for (int i = 0; i < g->size; i++) {
        fill_block(b->mine + (size_t)i * n, g->rank, i, n);
        fill_block(b->want + (size_t)i * n, i, g->rank, n);
    }
    rt_upload(rt, b->all, b->mine);
    rt_all_to_all(rt, g, b->other, b->all);
    return check_bytes(rt, b->other, b->want, "all_to_all", err);
}

static int check_movement(struct rt *rt, const struct rt_group *g, size_t n, struct pkb_error *err)
{
    size_t total = (size_t)g->size * n;
    struct buffers b = {
        .mine = calloc(1, total + 1),
        .want = calloc(1, total + 1),
        .one = rt_new(rt, PKB_U8, RT_SHAPE((int64_t)n)),
        .all = rt_new(rt, PKB_U8, RT_SHAPE(g->size, (int64_t)n)),
        .other = rt_new(rt, PKB_U8, RT_SHAPE(g->size, (int64_t)n)),
    };
    WORLD_CHECK(b.mine && b.want);
    int rc = check_from_one(rt, g, n, &b, err) || check_from_all(rt, g, n, &b, err) ? -1 : 0;
    free(b.mine);
    free(b.want);
    rt_release_all(rt);
    return rc;
}

static int movement(struct rt *rt, void *arg, struct pkb_error *err)
{
    static const size_t sizes[] = {0, 1, 7, 1000, 8192, 65536, 300000};
    (void)arg;
    for (size_t k = 0; k < 7; k++) {
        if (check_movement(rt, rt_world(rt), sizes[k], err))
            return pkb_error_prefix(err, "%zu bytes", sizes[k]);
    }
    return rt_sync(rt, err);
}

static void test_movement(void **state)
{
    (void)state;
    run_all(movement);
}

/* Rows that `from` sends to `to`: often none. */
static int64_t rows_between(int from, int to, int round)
{
    return round == 0 ? 0 : (from * 3 + to * 5 + round) % 4 * (round == 2 ? 500 : 1);
}

static int check_uneven(struct rt *rt, const struct rt_group *g, int round, struct pkb_error *err)
{
    enum { ROW = 6 };
    static uint8_t mine[8 * 1500 * ROW], want[8 * 1500 * ROW];
    int64_t send[8], recv[8], sent = 0, received = 0;
    for (int i = 0; i < g->size; i++) {
        send[i] = rows_between(g->rank, i, round);
        recv[i] = rows_between(i, g->rank, round);
        fill_block(mine + sent * ROW, g->rank, i, (size_t)send[i] * ROW);
        fill_block(want + received * ROW, i, g->rank, (size_t)recv[i] * ROW);
        sent += send[i];
        received += recv[i];
    }
    pkb_tensor *src = rt_new(rt, PKB_BF16, RT_SHAPE(sent, 3)), *dst = rt_new(rt, PKB_BF16, RT_SHAPE(received, 3));
    rt_upload(rt, src, mine);
    rt_all_to_all_v(rt, g, dst, recv, src, send);
    int rc = check_bytes(rt, dst, want, "all_to_all_v", err);
    rt_release_all(rt);
    return rc;
}

static int uneven(struct rt *rt, void *arg, struct pkb_error *err)
{
    (void)arg;
    for (int round = 0; round < 4; round++) {
        if (check_uneven(rt, rt_world(rt), round, err))
            return -1;
    }
    return rt_sync(rt, err);
}

static void test_all_to_all_v(void **state)
{
    (void)state;
    run_all(uneven);
}

/* ---- groups -------------------------------------------------------------------------------------------------------- */

static int check_everything(struct rt *rt, const struct rt_group *g, struct pkb_error *err)
{
    if (check_reductions(rt, g, RT_SUM, PKB_BF16, 2400, err) || check_movement(rt, g, 3000, err) || check_uneven(rt, g, 3, err))
        return pkb_error_prefix(err, "group %d of %d", g->id, g->size);
    rt_barrier(rt, g);
    return 0;
}

/* A grid of 2 x 4 ranks: rows and columns overlap, and all rows, then all columns, work at the same time. */
static int grid(struct rt *rt, void *arg, struct pkb_error *err)
{
    int row = rt_rank(rt) / 4, column = rt_rank(rt) % 4;
    int along_row[4], along_column[2] = {column, 4 + column}, backwards[4];
    (void)arg;
    for (int i = 0; i < 4; i++) {
        along_row[i] = 4 * row + i;
        backwards[i] = 4 * row + 3 - i;
    }
    const struct rt_group *rows = rt_group(rt, 4, along_row), *columns = rt_group(rt, 2, along_column);
    const struct rt_group *reverse = rt_group(rt, 4, backwards);
    WORLD_CHECK(rows && columns && reverse);
    WORLD_CHECK(rows->rank == column && columns->rank == row && reverse->rank == 3 - column);
    WORLD_CHECK(rows->id != columns->id && rows->id != reverse->id && rows->id != 0);
    WORLD_CHECK(rt_group(rt, 4, along_row) == rows && rt_group(rt, 8, (int[]){0, 1, 2, 3, 4, 5, 6, 7}) == rt_world(rt));
    for (int i = 0; i < 3; i++) {
        if (check_everything(rt, rows, err) || check_everything(rt, columns, err) || check_everything(rt, reverse, err) ||
            check_everything(rt, rt_world(rt), err))
            return -1;
    }
    return rt_sync(rt, err);
}

/* Ranks outside a group do something else meanwhile. Only some are members; setting up communication needs them all. */
static int subsets(struct rt *rt, void *arg, struct pkb_error *err)
{
    static const int inner[3] = {3, 0, 2}, pair[2] = {1, 4};
    (void)arg;
    if (rt_connect(rt, err))
        return -1;
    bool in_pair = rt_rank(rt) == 1 || rt_rank(rt) == 4;
    const struct rt_group *g = in_pair ? rt_group(rt, 2, pair) : rt_group(rt, 3, inner);
    for (int i = 0; i < (in_pair ? 9 : 2); i++) {
        if (check_everything(rt, g, err))
            return -1;
    }
    return check_everything(rt, rt_world(rt), err);
}

static void test_groups(void **state)
{
    (void)state;
    world_or_fail(8, grid, NULL);
    world_or_fail(5, subsets, NULL);
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

/* Both directions of a ring at once, several messages each: order is kept, nothing blocks. */
static int ring(struct rt *rt, void *arg, struct pkb_error *err)
{
    enum { N = 3 };
    static uint8_t out[1 << 20], want[1 << 20];
    const struct rt_group *g = rt_world(rt);
    int next = (g->rank + 1) % g->size, previous = (g->rank + g->size - 1) % g->size;
    static const size_t sizes[N] = {1, 5000, 1 << 20};
    pkb_tensor *to_next[N], *to_previous[N], *from_next[N], *from_previous[N];
    (void)arg;
    for (int k = 0; k < N; k++) {
        pkb_tensor **all[] = {&to_next[k], &to_previous[k], &from_next[k], &from_previous[k]};
        for (size_t i = 0; i < 4; i++)
            *all[i] = rt_new(rt, PKB_U8, RT_SHAPE((int64_t)sizes[k]));
        fill_block(out, g->rank, 50 + k, sizes[k]);
        rt_upload(rt, to_next[k], out);
        fill_block(out, g->rank, 60 + k, sizes[k]);
        rt_upload(rt, to_previous[k], out);
    }
    rt_p2p_begin(rt);
    for (int k = 0; k < N; k++) {
        rt_send(rt, g, to_next[k], next);
        rt_recv(rt, g, from_previous[k], previous);
    }
    /* In a world of two, next and previous are the same rank: its messages come in the order in which it sends them. */
    for (int k = 0; k < N; k++) {
        rt_send(rt, g, to_previous[k], previous);
        rt_recv(rt, g, from_next[k], next);
    }
    rt_p2p_end(rt);
    for (int k = 0; k < N; k++) {
        fill_block(want, previous, 50 + k, sizes[k]);
        if (check_bytes(rt, from_previous[k], want, "from previous", err))
            return -1;
        fill_block(want, next, 60 + k, sizes[k]);
        if (check_bytes(rt, from_next[k], want, "from next", err))
            return -1;
    }
    return 0;
}

/* Messages outside begin and end complete one by one. */
static int relay(struct rt *rt, void *arg, struct pkb_error *err)
{
    const struct rt_group *g = rt_world(rt);
    int64_t x;
    (void)arg;
    pkb_tensor *t = rt_new(rt, PKB_I64, RT_SCALAR);
    rt_fill(rt, t, 100);
    if (g->rank > 0)
        rt_recv(rt, g, t, g->rank - 1);
    rt_binary_scalar(rt, RT_ADD, t, t, 1);
    if (g->rank + 1 < g->size)
        rt_send(rt, g, t, g->rank + 1);
    rt_read_i64(rt, &x, t);
    rt_barrier(rt, g);
    if (rt_sync(rt, err))
        return -1;
    WORLD_CHECK(x == 101 + g->rank);
    return 0;
}

static void test_messages(void **state)
{
    (void)state;
    run_all(ring);
    run_all(relay);
}

/* ---- several nodes ------------------------------------------------------------------------------------------------- */

static int across_nodes(struct rt *rt, void *arg, struct pkb_error *err)
{
    (void)arg;
    if (check_everything(rt, rt_world(rt), err) || ring(rt, NULL, err))
        return -1;
    pkb_symm symm;
    if (rt_symm_alloc(rt, 4096, &symm, err))
        return -1;
    for (int q = 0; q < 4; q++)
        WORLD_CHECK((symm.peers[q] != NULL) == (q / 2 == rt_rank(rt) / 2));
    int neighbour = rt_rank(rt) ^ 1;
    for (uint32_t i = 1; i <= 200; i++) {
        ((volatile uint32_t *)symm.peers[neighbour])[0] = i;
        rt_symm_barrier(rt);
        WORLD_CHECK(((volatile uint32_t *)symm.local)[0] == i);
        rt_symm_barrier(rt);
    }
    return rt_sync(rt, err);
}

static void check_ends(const struct world_spec *spec)
{
    struct world_rank ranks[WORLD_MAX];
    struct pkb_error err;
    assert_int_equal(world_run_each(spec, ranks, &err), 0);
    for (int i = 0; i < spec->world; i++) {
        if (ranks[i].end != WORLD_RETURNED || ranks[i].rc)
            fail_msg("rank %d: %s", i, ranks[i].text);
    }
}

static void test_several_nodes(void **state)
{
    static const int nodes[4] = {7, 7, 3, 3};
    struct world_spec spec = {.world = 4, .seconds = WORLD_LIMIT, .node_of_rank = nodes, .fn = across_nodes};
    (void)state;
    check_ends(&spec);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_movement), cmocka_unit_test(test_all_to_all_v),
        cmocka_unit_test(test_groups),     cmocka_unit_test(test_messages), cmocka_unit_test(test_several_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
