/* SPDX-License-Identifier: Apache-2.0 */
/* Agent 0 as a process: who is taken for it, and its end. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "orchestrator/leader.h"

/* A process with the arguments of an agent of shard 3, attempt 12, that waits for the end of its standard input. */
static pid_t start(int *input)
{
    int fds[2], ready[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fds[0], 0);
        (void)dup2(ready[1], 1);
        (void)close(fds[1]);
        (void)execl("/bin/sh", "pkb-agent", "-c", "echo; read line", "pkb-agent", "--run", "/runs/x", "--shard", "3", "--attempt",
                    "12", (char *)NULL);
        _exit(1);
    }
    (void)close(fds[0]);
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1); /* it has become what it is to be */
    (void)close(ready[0]);
    *input = fds[1];
    return pid;
}

static int end(pid_t pid, int input)
{
    int status;
    (void)close(input);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_only_an_agent_of_the_attempt_is_met(void **state)
{
    static const struct {
        const char *name;
        int shard, attempt;
        bool met;
    } rows[] = {
        {"it", 3, 12, true},
        {"another shard", 4, 12, false},
        {"another attempt", 3, 1, false},
        {"an attempt with more digits", 3, 123, false},
        {"a shard whose number ends alike", 13, 12, false},
    };
    int input;
    pid_t pid = start(&input);
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct leader l = LEADER_NONE;
        leader_meet(&l, pid, rows[i].shard, rows[i].attempt);
        if ((l.pidfd >= 0) != rows[i].met)
            fail_msg("%s", rows[i].name);
        assert_false(leader_gone(&l));
        if (l.pidfd >= 0)
            (void)close(l.pidfd);
    }
    (void)end(pid, input);
}

static void test_nobody_is_never_gone(void **state)
{
    struct leader l = LEADER_NONE;
    int input;
    pid_t pid = start(&input);
    (void)state;
    (void)end(pid, input);
    leader_meet(&l, pid, 3, 12); /* the number is free again */
    assert_int_equal(l.pidfd, -1);
    assert_false(leader_gone(&l));
    leader_end(&l);
}

static void test_its_end_is_seen(void **state)
{
    struct leader l = LEADER_NONE;
    int input;
    pid_t pid = start(&input);
    (void)state;
    leader_meet(&l, pid, 3, 12);
    assert_true(l.pidfd >= 0);
    assert_int_equal(end(pid, input), 0x100); /* read fails at the end of its input */
    assert_true(leader_gone(&l));
    leader_end(&l);
    assert_int_equal(l.pidfd, -1);
}

static void test_it_can_be_ended(void **state)
{
    struct leader l = LEADER_NONE;
    int input;
    pid_t pid = start(&input);
    (void)state;
    leader_meet(&l, pid, 3, 12);
    leader_end(&l);
    assert_int_equal(l.pidfd, -1);
    int status = end(pid, input);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_an_agent_of_the_attempt_is_met),
        cmocka_unit_test(test_nobody_is_never_gone),
        cmocka_unit_test(test_its_end_is_seen),
        cmocka_unit_test(test_it_can_be_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
