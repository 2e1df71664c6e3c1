/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory: stores to peers, loads from peers, and the barrier between them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/gpu.h"
#include "util/clock.h"

#define ELEMENTS 5000
#define ROUNDS 6

struct wanted {
    const char *method;
};

static pkb_tensor part_of(void *block, int member, int64_t n)
{
    return (pkb_tensor){(char *)block + (size_t)member * (size_t)n * sizeof(float), PKB_F32, 1, {n}};
}

/* Every element of a piece has the value; counts one check. */
static int expect(struct rt *rt, const pkb_tensor *t, float value, const char *what, struct pkb_error *err)
{
    static float got[ELEMENTS];
    int64_t wrong = 0;
    rt_download(rt, got, t);
    if (rt_sync(rt, err))
        return -1;
    for (int64_t i = 0; i < t->shape[0]; i++)
        wrong += got[i] != value;
    gpu_check(wrong == 0, "%s: %lld elements are not %g, first %g", what, (long long)wrong, (double)value, (double)got[0]);
    return 0;
}

/* Each rank stores into its place on every peer, and finds what all have stored; then it loads from the peers. */
static int exchange_round(struct rt *rt, const pkb_symm *symm, int round, struct pkb_error *err)
{
    int world = rt_world_size(rt), rank = rt_rank(rt);
    for (int q = 0; q < world; q++) {
        pkb_tensor there = part_of(symm->peers[q], rank, ELEMENTS);
        rt_fill(rt, &there, 1000 * round + 10 * rank + q);
    }
    rt_symm_barrier(rt);
    for (int q = 0; q < world; q++) {
        pkb_tensor here = part_of(symm->local, q, ELEMENTS), there = part_of(symm->peers[q], rank, ELEMENTS);
        pkb_tensor *copy = rt_new_like(rt, PKB_F32, &there);
        rt_copy(rt, copy, &there);
        if (!copy || expect(rt, &here, (float)(1000 * round + 10 * q + rank), "stored by a peer", err) ||
            expect(rt, copy, (float)(1000 * round + 10 * rank + q), "loaded from a peer", err))
            return copy ? -1 : rt_status(rt, err);
    }
    rt_symm_barrier(rt);
    rt_release_all(rt);
    return rt_status(rt, err);
}

static int check_block(struct rt *rt, const pkb_symm *symm, struct pkb_error *err)
{
    int world = rt_world_size(rt), rank = rt_rank(rt);
    bool all = symm->peers[rank] == symm->local && (uintptr_t)symm->local % 256 == 0;
    for (int q = 0; q < world; q++)
        all = all && symm->peers[q];
    gpu_check(all, "peers of rank %d: some are missing", rank);
    gpu_check(symm->multicast == NULL, "a multicast object was made");
    pkb_tensor whole = part_of(symm->local, 0, ELEMENTS);
    return all ? expect(rt, &whole, 0, "fresh memory", err) : pkb_error_set(err, "peers are missing");
}

static int run_symm(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    const struct wanted *w = arg;
    pkb_symm symm = {0}, second = {0};
    if (setenv("PKB_SYMM", w->method, 1))
        return pkb_error_errno(err, "environment");
    struct rt *rt = rt_open("cuda", o, err);
    if (!rt)
        return -1;
    size_t bytes = (size_t)(o->world * ELEMENTS) * sizeof(float);
    int rc = rt_symm_alloc(rt, bytes, &symm, err) || rt_symm_alloc(rt, bytes, &second, err) || check_block(rt, &symm, err) ||
             check_block(rt, &second, err);
    rt_symm_barrier(rt); /* only now may peers store */
    for (int round = 0; round < ROUNDS && !rc; round++)
        rc = exchange_round(rt, round % 2 ? &second : &symm, round, err);
    int64_t start = pkb_now_ns();
    for (int i = 0; i < 50; i++)
        rt_symm_barrier(rt);
    rc = rc || rt_sync(rt, err);
    if (o->rank == 0 && !rc)
        printf("symm_barrier %s, %d ranks: %.1f us\n", w->method, o->world, (double)(pkb_now_ns() - start) / 50e3);
    rt_close(rt);
    return rc ? -1 : 0;
}

/* A refused allocation is no end: the ranks go on. */
static int run_refused(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    pkb_symm symm = {0};
    struct pkb_error why = {""};
    struct rt *rt = rt_open("cuda", o, err);
    (void)arg;
    if (!rt)
        return -1;
    gpu_check(rt_symm_alloc(rt, (size_t)1 << 45, &symm, &why) != 0, "32 TiB of symmetric memory were given");
    gpu_check(rt_symm_alloc(rt, o->rank == 0 ? 4096 : 8192, &symm, &why) != 0 || o->world == 1, "different sizes were accepted");
    int rc = rt_symm_alloc(rt, 4096, &symm, err);
    rt_symm_barrier(rt);
    rc = rc ? rc : rt_sync(rt, err);
    rt_close(rt);
    return rc;
}

/* A fabric works, or says that it does not; on all ranks alike. */
static int run_fabric(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    pkb_symm symm = {0};
    struct pkb_error why = {""};
    (void)arg;
    if (setenv("PKB_SYMM", "fabric", 1))
        return pkb_error_errno(err, "environment");
    struct rt *rt = rt_open("cuda", o, err);
    if (!rt)
        return -1;
    int rc = rt_symm_alloc(rt, 4096, &symm, &why);
    gpu_check(rc == 0 || strstr(why.text, "PKB_SYMM=fabric does not work here"), "fabric: %s", why.text);
    if (o->rank == 0)
        printf("fabric handles: %s\n", rc ? why.text : "work");
    if (rc == 0) {
        rt_symm_barrier(rt);
        rc = rt_sync(rt, err);
    } else {
        rc = 0;
    }
    rt_close(rt);
    return rc;
}

void test_symmetric(void)
{
    static struct wanted fd = {"fd"}, ipc = {"ipc"}, any = {""};
    gpu_world("symmetric memory (any)", 1, "staged", run_symm, &any);
    gpu_world("symmetric memory (fd)", 2, "staged", run_symm, &fd);
    gpu_world("symmetric memory (fd)", 4, "staged", run_symm, &fd);
    gpu_world("symmetric memory (fd)", 8, "staged", run_symm, &fd);
    gpu_world("symmetric memory (ipc)", 2, "staged", run_symm, &ipc);
    gpu_world("symmetric memory (fabric)", 2, "staged", run_fabric, NULL);
    gpu_world("symmetric memory (refused)", 2, "staged", run_refused, NULL);
}
