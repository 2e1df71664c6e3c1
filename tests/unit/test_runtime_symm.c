/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory between real processes. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/world_or_fail.h"

/* Everybody writes to everybody, a barrier, everybody checks what came, a barrier. */
static int exchange_rounds(struct rt *rt, void *arg, struct pkb_error *err)
{
    pkb_symm symm;
    int mine = rt_rank(rt), world = rt_world_size(rt);
    (void)arg;
    if (rt_symm_alloc(rt, (size_t)world * sizeof(uint64_t), &symm, err))
        return -1;
    volatile uint64_t *local = symm.local;
    for (uint64_t round = 1; round <= 5000; round++) {
        for (int q = 0; q < world; q++)
            ((volatile uint64_t *)symm.peers[q])[mine] = round * 100 + (uint64_t)mine;
        rt_symm_barrier(rt);
        for (int q = 0; q < world; q++)
            WORLD_CHECK(local[q] == round * 100 + (uint64_t)q);
        rt_symm_barrier(rt);
    }
    return rt_sync(rt, err);
}

static void test_barriers(void **state)
{
    (void)state;
    world_or_fail(1, exchange_rounds, NULL);
    world_or_fail(2, exchange_rounds, NULL);
    world_or_fail(4, exchange_rounds, NULL);
    world_or_fail(8, exchange_rounds, NULL);
}

static int count_objects(void)
{
    char prefix[64];
    int n = 0;
    DIR *dir = opendir("/dev/shm");
    struct dirent *entry;
    (void)snprintf(prefix, sizeof(prefix), "pkb-test.%ld.", (long)getppid());
    while (dir && (entry = readdir(dir)))
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (dir)
        (void)closedir(dir);
    return n;
}

/* Several blocks: zero, aligned, apart from each other, and nothing stays in the file system. */
static int blocks(struct rt *rt, void *arg, struct pkb_error *err)
{
    static const size_t sizes[] = {1, 100, 4096, 3 << 20};
    pkb_symm symm[4];
    int mine = rt_rank(rt), world = rt_world_size(rt);
    (void)arg;
    for (int k = 0; k < 4; k++) {
        if (rt_symm_alloc(rt, sizes[k], &symm[k], err))
            return -1;
        WORLD_CHECK(symm[k].size == sizes[k] && symm[k].local == symm[k].peers[mine] && !symm[k].multicast);
        WORLD_CHECK((uintptr_t)symm[k].local % 256 == 0);
        for (size_t i = 0; i < sizes[k]; i++)
            WORLD_CHECK(((uint8_t *)symm[k].local)[i] == 0);
        rt_symm_barrier(rt); /* before anybody writes */
        for (int q = 0; q < world; q++)
            ((volatile uint8_t *)symm[k].peers[q])[(sizes[k] - 1) * (size_t)mine / (size_t)world] = (uint8_t)(k + 1);
    }
    rt_symm_barrier(rt);
    WORLD_CHECK(count_objects() == 0);
    for (int k = 0; k < 4; k++) {
        for (int q = 0; q < world; q++)
            WORLD_CHECK(((uint8_t *)symm[k].local)[(sizes[k] - 1) * (size_t)q / (size_t)world] == k + 1);
    }
    return rt_sync(rt, err);
}

static void test_blocks(void **state)
{
    (void)state;
    world_or_fail(1, blocks, NULL);
    world_or_fail(3, blocks, NULL);
    world_or_fail(8, blocks, NULL);
}

/* Refused on one rank, refused on all; it is no failure of the runtime. */
static int refusals(struct rt *rt, void *arg, struct pkb_error *err)
{
    pkb_symm symm;
    int mine = rt_rank(rt);
    (void)arg;
    WORLD_CHECK(rt_symm_alloc(rt, 0, &symm, err) == -1);
    WORLD_CHECK(rt_symm_alloc(rt, (size_t)1 << 50, &symm, err) == -1);
    WORLD_CHECK(strstr(err->text, "symmetric memory of 1125899906842624 bytes: rank 0: shared memory /pkb-test."));
    WORLD_CHECK(rt_symm_alloc(rt, SIZE_MAX, &symm, err) == -1);
    WORLD_CHECK(rt_symm_alloc(rt, mine == 1 ? 4096 : 8192, &symm, err) == -1);
    WORLD_CHECK(strstr(err->text, "bytes, rank"));
    struct rlimit before, tight = {(rlim_t)1 << 20, RLIM_INFINITY};
    WORLD_CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    tight.rlim_max = before.rlim_max;
    if (mine == 2) /* no address space for the block */
        WORLD_CHECK(setrlimit(RLIMIT_AS, &tight) == 0);
    int rc = rt_symm_alloc(rt, 1 << 20, &symm, err);
    if (mine == 2)
        WORLD_CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    WORLD_CHECK(rc == -1);
    WORLD_CHECK(strstr(err->text, "rank 2: shared memory") && strstr(err->text, "Cannot allocate memory"));
    if (rt_status(rt, err) || rt_symm_alloc(rt, 1 << 20, &symm, err))
        return -1;
    ((volatile uint8_t *)symm.peers[(mine + 1) % rt_world_size(rt)])[5] = 9;
    rt_symm_barrier(rt);
    WORLD_CHECK(((uint8_t *)symm.local)[5] == 9);
    WORLD_CHECK(count_objects() == 0);
    return rt_sync(rt, err);
}

static void test_refusals(void **state)
{
    (void)state;
    world_or_fail(4, refusals, NULL);
}

/* An object that a killed process has left under the same name is replaced. */
static int leftovers(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    char path[128];
    pkb_symm symm;
    (void)arg;
    for (int count = 0; count < 2; count++) {
        (void)snprintf(path, sizeof(path), "/dev/shm%s.%d.%d", o->shm_prefix, count, o->rank);
        FILE *f = fopen(path, "we");
        WORLD_CHECK(f && fputs("old", f) >= 0 && fclose(f) == 0);
    }
    struct rt *rt = rt_open("host", o, err);
    if (!rt)
        return -1;
    int rc = rt_symm_alloc(rt, 100, &symm, err);
    if (rc == 0 && (symm.size != 100 || ((char *)symm.local)[0] != 0))
        rc = pkb_error_set(err, "old contents");
    rt_close(rt);
    return rc;
}

static void test_leftovers(void **state)
{
    struct world_spec spec = {.world = 2, .seconds = WORLD_LIMIT, .raw = leftovers};
    struct world_rank ranks[2];
    struct pkb_error err;
    (void)state;
    assert_int_equal(world_run_each(&spec, ranks, &err), 0);
    for (int i = 0; i < 2; i++)
        assert_string_equal(ranks[i].text, "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_leftovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
