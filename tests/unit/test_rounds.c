/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds over a real TCP star: the hub in this process, members forked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "node_agent/rounds.h"
#include "node_agent/star.h"

#define WAIT_MS 20000
#define MAX_WORLD 8

typedef int member_fn(struct rounds *r, int rank);

static const uint8_t cookie[STAR_COOKIE] = "an example of a secret cookie..";
static const char *const loopback[] = {"127.0.0.1"};

struct world {
    int size, port, listen_fd;
    pid_t pids[MAX_WORLD];
    struct rounds *hub;
};

static void member_main(int port, int rank, int size, member_fn *run)
{
    struct pkb_error err;
    struct frames *f = star_connect(loopback, 1, port, rank, size, cookie, rounds_hub_limit(size), WAIT_MS, &err);
    struct rounds *r = f ? rounds_create_member(rank, size, f, &err) : NULL;
    if (!r)
        _exit(100);
    int rc = run(r, rank);
    rounds_destroy(r);
    _exit(rc);
}

static void world_start(struct world *w, int size, member_fn *run)
{
    struct pkb_error err;
    struct frames *members[MAX_WORLD];
    w->size = size;
    w->listen_fd = star_listen(true, &w->port, &err);
    assert_true(w->listen_fd >= 0);
    for (int i = 1; i < size; i++) {
        w->pids[i] = fork();
        assert_true(w->pids[i] >= 0);
        if (w->pids[i] == 0)
            member_main(w->port, i, size, run);
    }
    assert_int_equal(star_accept(w->listen_fd, size, cookie, rounds_member_limit(), WAIT_MS, members, NULL, &err), 0);
    w->hub = rounds_create_hub(size, members, &err);
    assert_non_null(w->hub);
}

/* Ends the hub and checks every member's exit code. */
static void world_end(struct world *w, int expected)
{
    rounds_destroy(w->hub);
    (void)close(w->listen_fd);
    for (int i = 1; i < w->size; i++) {
        int status;
        assert_int_equal(waitpid(w->pids[i], &status, 0), w->pids[i]);
        if (WIFEXITED(status))
            assert_int_equal(WEXITSTATUS(status), expected);
    }
}

/* ---- agreement ------------------------------------------------------------------------------------------------------- */

#define ROUNDS 60

static size_t size_of(int round, int rank)
{
    uint32_t x = (uint32_t)(round * 2654435761u) ^ (uint32_t)(rank * 40503u);
    x ^= x >> 13;
    return round % 20 == 7 ? 300000 + x % 70000 : x % 700;
}

static bool entry_right(const struct round_entry *e, int round, int rank)
{
    if (e->kind != ROUND_EXCHANGE || e->size != size_of(round, rank))
        return false;
    for (size_t i = 0; i < e->size; i++)
        if (e->data[i] != (uint8_t)(round + rank))
            return false;
    return true;
}

static int exchange_all(struct rounds *r, int rank, int size)
{
    static uint8_t data[400000];
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t arrivals = 0;
        memset(data, round + rank, size_of(round, rank));
        if (rounds_submit(r, ROUND_EXCHANGE, data, size_of(round, rank), NULL) < 0 || rounds_wait(r, WAIT_MS, NULL) != 0)
            return 1;
        for (int i = 0; i < size; i++) {
            if (!entry_right(rounds_entry(r, i), round, i))
                return 2;
            arrivals |= 1u << rounds_entry(r, i)->arrival;
        }
        if (arrivals != (1u << size) - 1)
            return 3;
    }
    return 0;
}

static int member_exchange(struct rounds *r, int rank)
{
    return exchange_all(r, rank, 8);
}

static void all_get_everybodys(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 8, member_exchange);
    assert_int_equal(exchange_all(w.hub, 0, 8), 0);
    world_end(&w, 0);
}

static void world_of_one(void **state)
{
    struct pkb_error err;
    struct rounds *r = rounds_create_hub(1, NULL, &err);
    (void)state;
    assert_non_null(r);
    assert_int_equal(exchange_all(r, 0, 1), 0);
    rounds_destroy(r);
}

/* ---- interrupts ------------------------------------------------------------------------------------------------------ */

/* Waits for an interrupt like an agent whose runner works. */
static int await_interrupt(struct rounds *r)
{
    for (;;) {
        int event = rounds_progress(r, NULL);
        struct pollfd p = rounds_pollfd(r);
        if (event != ROUNDS_NONE)
            return event == ROUNDS_INTERRUPT ? 0 : 1;
        if (poll(&p, 1, WAIT_MS) <= 0)
            return 2;
    }
}

/* Rank 1 fails, rank 2 has submitted, the others are busy until they are interrupted. */
static int one_fails(struct rounds *r, int rank)
{
    if (rank > 2 || rank == 0) {
        if (await_interrupt(r) != 0 || rounds_submitted(r))
            return 1;
    }
    enum round_kind kind = rank == 1 ? ROUND_EXIT : rank == 2 ? ROUND_DONE : ROUND_ABORTED;
    if (rounds_submit(r, kind, "x", 1, NULL) < 0 || rounds_wait(r, WAIT_MS, NULL) != 0)
        return 2;
    for (int i = 0; i < 4; i++) {
        uint32_t expected = i == 1 ? ROUND_EXIT : i == 2 ? ROUND_DONE : ROUND_ABORTED;
        if (rounds_entry(r, i)->kind != expected)
            return 3;
    }
    return exchange_all(r, rank, 4);
}

static void exit_interrupts_the_busy(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 4, one_fails);
    assert_int_equal(one_fails(w.hub, 0), 0);
    world_end(&w, 0);
}

/* Rank 1 has submitted a DONE and then fails; the hub submits only after being interrupted. */
static int replaces(struct rounds *r, int rank)
{
    if (rank == 1 && (rounds_submit(r, ROUND_DONE, NULL, 0, NULL) < 0 || rounds_submit(r, ROUND_EXIT, "late", 4, NULL) < 0))
        return 1;
    if (rank != 1 && (await_interrupt(r) != 0 || rounds_submit(r, ROUND_ABORTED, NULL, 0, NULL) < 0))
        return 2;
    if (rounds_wait(r, WAIT_MS, NULL) != 0)
        return 3;
    const struct round_entry *e = rounds_entry(r, 1);
    return e->kind == ROUND_EXIT && e->size == 4 && memcmp(e->data, "late", 4) == 0 ? 0 : 4;
}

static void exit_replaces_a_submission(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 3, replaces);
    assert_int_equal(replaces(w.hub, 0), 0);
    world_end(&w, 0);
}

/* ---- losses ---------------------------------------------------------------------------------------------------------- */

static int rank_2_dies(struct rounds *r, int rank)
{
    struct pkb_error err;
    if (rank == 2)
        _exit(9);
    if (rounds_submit(r, ROUND_DONE, NULL, 0, &err) < 0)
        return rank == 0 || rounds_lost_rank(r) == 2 ? 9 : 1;
    if (rounds_wait(r, WAIT_MS, &err) != -1 || rounds_lost_rank(r) != 2)
        return 2;
    return strstr(err.text, "lost the agent of rank 2") && rounds_submit(r, ROUND_DONE, NULL, 0, &err) < 0 ? 9 : 3;
}

static void a_dead_member_is_told_to_all(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 4, rank_2_dies);
    assert_int_equal(rank_2_dies(w.hub, 0), 9);
    world_end(&w, 9);
}

static int rank_1_leaves(struct rounds *r, int rank)
{
    struct pkb_error err;
    if (rank == 1) {
        rounds_leave(r, 8, "no space\nleft");
        return 5;
    }
    if (rounds_submit(r, ROUND_DONE, NULL, 0, &err) < 0)
        return strstr(err.text, "no space?left") ? 5 : 1;
    return rounds_wait(r, WAIT_MS, &err) == -1 && strstr(err.text, "rank 1: no space?left") && rounds_lost_code(r) == 8 ? 5 : 2;
}

static void a_leaving_member_says_why(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 3, rank_1_leaves);
    assert_int_equal(rank_1_leaves(w.hub, 0), 5);
    world_end(&w, 5);
}

static int hub_goes(struct rounds *r, int rank)
{
    struct pkb_error err;
    (void)rank;
    (void)rounds_submit(r, ROUND_DONE, NULL, 0, &err);
    return rounds_wait(r, WAIT_MS, &err) == -1 && rounds_lost_rank(r) == 0 && strstr(err.text, "lost agent 0") ? 7 : 1;
}

static void members_notice_a_lost_hub(void **state)
{
    struct world w;
    (void)state;
    world_start(&w, 3, hub_goes);
    world_end(&w, 7);
}

static int submits_twice(struct rounds *r, int rank)
{
    (void)rounds_submit(r, ROUND_DONE, NULL, 0, NULL);
    if (rank == 1)
        (void)rounds_submit(r, ROUND_CELL, NULL, 0, NULL);
    return rounds_wait(r, WAIT_MS, NULL) == -1 && rounds_lost_rank(r) >= 0 ? 4 : 1;
}

static void a_second_submission_is_refused(void **state)
{
    struct world w;
    struct pkb_error err;
    (void)state;
    world_start(&w, 3, submits_twice);
    assert_int_equal(rounds_wait(w.hub, WAIT_MS, &err), -1);
    assert_int_equal(rounds_lost_rank(w.hub), 1);
    world_end(&w, 4);
}

static void too_much_data_is_refused(void **state)
{
    struct pkb_error err;
    struct rounds *r = rounds_create_hub(1, NULL, &err);
    (void)state;
    assert_non_null(r);
    assert_int_equal(rounds_submit(r, ROUND_DONE, "", (size_t)ROUNDS_MAX_DATA + 1, &err), -1);
    assert_non_null(strstr(err.text, "above the limit"));
    rounds_destroy(r);
}

/* ---- members that break the protocol --------------------------------------------------------------------------------- */

struct garbage {
    const char *name;
    uint32_t type, round, size; /* of the header */
    size_t sent;                /* payload bytes that follow */
};

static const struct garbage garbage[] = {
    {"unknown type", 77, 0, 0, 0},
    {"reply from a member", FRAME_REPLY, 0, 12, 12},
    {"submission without a kind", FRAME_SUBMIT, 0, 3, 3},
    {"submission to a later round", FRAME_SUBMIT, 5, 8, 8},
    {"oversize payload", FRAME_SUBMIT, 0, 0x7fffffff, 100},
    {"largest size there is", FRAME_SUBMIT, 0, 0xffffffff, 0},
    {"half a header, then gone", FRAME_SUBMIT, 0, 0, (size_t)-1},
    {"promises more than it sends", FRAME_SUBMIT, 0, 4000, 10},
};

static const struct garbage *current;

static int send_garbage(struct rounds *r, int rank)
{
    uint8_t bytes[16 + 4096] = {0};
    int fd = rounds_pollfd(r).fd;
    size_t n = current->sent == (size_t)-1 ? 7 : 16 + current->sent;
    frames_put32(bytes, current->type);
    frames_put32(bytes + 4, current->size);
    frames_put64(bytes + 8, current->round);
    return rank == 1 && send(fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n && shutdown(fd, SHUT_WR) == 0 ? 0 : 1;
}

static void garbage_loses_the_member(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct world w;
        struct pkb_error err = {""};
        current = &garbage[i];
        world_start(&w, 2, send_garbage);
        (void)rounds_submit(w.hub, ROUND_DONE, NULL, 0, &err);
        if (rounds_wait(w.hub, WAIT_MS, &err) != -1 || rounds_lost_rank(w.hub) != 1)
            fail_msg("%s: was accepted", current->name);
        world_end(&w, 0);
    }
}

/* ---- strangers ------------------------------------------------------------------------------------------------------- */

static int raw_connection(int port)
{
    struct pkb_error err;
    /* A cookie that is wrong in its last byte. */
    uint8_t wrong[STAR_COOKIE];
    memcpy(wrong, cookie, sizeof(wrong));
    wrong[STAR_COOKIE - 1] ^= 1;
    struct frames *f = star_connect(loopback, 1, port, 1, 2, wrong, 100, WAIT_MS, &err);
    if (f)
        return 1;
    return strstr(err.text, "refused") ? 0 : 2;
}

/* Connects with the right cookie in spite of strangers before and after it. */
static void stranger_main(int port)
{
    struct pkb_error err;
    int rc = raw_connection(port);
    struct frames *outside = star_connect(loopback, 1, port, 9, 2, cookie, 100, WAIT_MS, &err);
    struct frames *other = star_connect(loopback, 1, port, 1, 3, cookie, 100, WAIT_MS, &err);
    struct frames *hub = star_connect(loopback, 1, port, 0, 2, cookie, 100, WAIT_MS, &err);
    if (rc || outside || other || hub)
        _exit(1);
    member_main(port, 1, 2, hub_goes);
}

static void strangers_are_turned_away(void **state)
{
    struct pkb_error err;
    struct frames *members[2];
    int port, strangers, status, fd = star_listen(true, &port, &err);
    (void)state;
    assert_true(fd >= 0);
    pid_t pid = fork();
    if (pid == 0)
        stranger_main(port);
    assert_int_equal(star_accept(fd, 2, cookie, rounds_member_limit(), WAIT_MS, members, &strangers, &err), 0);
    assert_int_equal(strangers, 4);
    frames_destroy(members[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    (void)close(fd);
}

static void missing_agents_are_named(void **state)
{
    struct pkb_error err;
    struct frames *members[3];
    int port, fd = star_listen(true, &port, &err);
    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(star_accept(fd, 3, cookie, rounds_member_limit(), 50, members, NULL, &err), -1);
    assert_non_null(strstr(err.text, "ranks 1,2 did not connect"));
    (void)close(fd);
}

static void nobody_listens(void **state)
{
    struct pkb_error err;
    static const char *const odd[] = {"not-an-address"};
    int port, fd = star_listen(true, &port, &err);
    (void)state;
    (void)close(fd);
    assert_null(star_connect(loopback, 1, port, 1, 2, cookie, 100, 1000, &err));
    assert_non_null(strstr(err.text, "cannot connect to agent 0"));
    assert_null(star_connect(odd, 1, port, 1, 2, cookie, 100, 1000, &err));
    assert_null(star_connect(NULL, 0, port, 1, 2, cookie, 100, 1000, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_get_everybodys),
        cmocka_unit_test(world_of_one),
        cmocka_unit_test(exit_interrupts_the_busy),
        cmocka_unit_test(exit_replaces_a_submission),
        cmocka_unit_test(a_dead_member_is_told_to_all),
        cmocka_unit_test(a_leaving_member_says_why),
        cmocka_unit_test(members_notice_a_lost_hub),
        cmocka_unit_test(a_second_submission_is_refused),
        cmocka_unit_test(too_much_data_is_refused),
        cmocka_unit_test(garbage_loses_the_member),
        cmocka_unit_test(strangers_are_turned_away),
        cmocka_unit_test(missing_agents_are_named),
        cmocka_unit_test(nobody_listens),
    };
    (void)alarm(120); /* nothing here may hang */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
