/* SPDX-License-Identifier: Apache-2.0 */
/* Communication that cannot succeed: ranks that disagree, have ended or die. The others get an error and do not hang. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/world_or_fail.h"

/* Ranks that disagree about a length find out. */
static int disagree(struct rt *rt, void *arg, struct pkb_error *err)
{
    int mine = rt_rank(rt);
    const bool *longer = arg;
    int64_t keep[2] = {0, 0}, rows[2] = {0, 0};
    rows[1 - mine] = mine == 0 ? (*longer ? 5 : 3) : 4;
    keep[1 - mine] = 4;
    pkb_tensor *src = rt_new(rt, PKB_F32, RT_SHAPE(8, 2)), *dst = rt_new(rt, PKB_F32, RT_SHAPE(8, 2));
    rt_fill(rt, src, 1);
    rt_all_to_all_v(rt, rt_world(rt), dst, keep, src, rows);
    int rc = rt_sync(rt, err);
    if (mine == 0)
        return rc;
    WORLD_CHECK(rc == -1);
    WORLD_CHECK(strstr(err->text, "all_to_all_v: ") == err->text && strstr(err->text, "bytes came from rank 0"));
    return 0;
}

static void test_disagreement(void **state)
{
    bool longer[2] = {false, true};
    (void)state;
    world_or_fail(2, disagree, &longer[0]);
    world_or_fail(2, disagree, &longer[1]);
}

/* The exchange fails because a rank has ended: setting up communication fails, and everything after it is skipped. */
static int lonely(struct rt *rt, void *arg, struct pkb_error *err)
{
    (void)arg;
    if (rt_rank(rt) == 2)
        return 0;
    rt_barrier(rt, rt_world(rt));
    rt_barrier(rt, rt_world(rt));
    WORLD_CHECK(rt_sync(rt, err) == -1);
    WORLD_CHECK(strstr(err->text, "barrier: setting up communication: exchange: rank 2 has ended"));
    return 0;
}

static void test_ended_rank(void **state)
{
    (void)state;
    world_or_fail(3, lonely, NULL);
}

/* A rank on another node dies: whoever waits for it gets an error, without anybody's help. */
static int widow(struct rt *rt, void *arg, struct pkb_error *err)
{
    (void)arg;
    pkb_tensor *t = rt_new(rt, PKB_F32, RT_SHAPE(10));
    rt_fill(rt, t, 1);
    rt_broadcast(rt, rt_world(rt), t, 0);
    rt_barrier(rt, rt_world(rt));
    if (rt_sync(rt, err))
        return -1;
    if (rt_rank(rt) == 1)
        (void)raise(SIGKILL);
    rt_recv(rt, rt_world(rt), t, 1);
    rt_fill(rt, t, 5);
    WORLD_CHECK(rt_sync(rt, err) == -1);
    WORLD_CHECK(strstr(err->text, "rank 1 is gone"));
    return 0;
}

static void test_dead_peer(void **state)
{
    static const int nodes[2] = {0, 1};
    struct world_spec spec = {.world = 2, .seconds = WORLD_LIMIT, .node_of_rank = nodes, .fn = widow};
    struct world_rank ranks[2];
    struct pkb_error err;
    (void)state;
    assert_int_equal(world_run_each(&spec, ranks, &err), 0);
    assert_int_equal(ranks[1].end, WORLD_DIED);
    assert_non_null(strstr(ranks[1].text, "signal 9"));
    assert_int_equal(ranks[0].end, WORLD_RETURNED);
    assert_string_equal(ranks[0].text, "");
    assert_int_equal(ranks[0].rc, 0);
}

/* The support library itself: a rank that hangs is killed, one that crashes is told. */
static int hang(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    (void)arg;
    if (o->rank == 0)
        (void)pause();
    if (o->rank == 1)
        abort();
    return pkb_error_set(err, "rank %d of %d", o->rank, o->world);
}

static void test_world(void **state)
{
    struct world_spec spec = {.world = 3, .seconds = 1, .raw = hang};
    struct world_rank ranks[3];
    struct pkb_error err;
    (void)state;
    assert_int_equal(world_run_each(&spec, ranks, &err), 0);
    assert_int_equal(ranks[0].end, WORLD_TIMED_OUT);
    assert_int_equal(ranks[1].end, WORLD_DIED);
    assert_int_equal(ranks[2].end, WORLD_RETURNED);
    assert_int_equal(ranks[2].rc, -1);
    assert_string_equal(ranks[2].text, "rank 2 of 3");
    spec.world = WORLD_MAX + 1;
    assert_int_equal(world_run_each(&spec, ranks, &err), -1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_world),
        cmocka_unit_test(test_disagreement),
        cmocka_unit_test(test_ended_rank),
        cmocka_unit_test(test_dead_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
