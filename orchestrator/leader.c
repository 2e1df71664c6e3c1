/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/leader.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOP_MS 5000 /* from SIGTERM to having ended */
#define KILL_MS 5000 /* from SIGKILL */

#define ARGUMENTS_SIZE (2 * PATH_MAX) /* of an agent: program, run directory and little else */

/* The arguments of a process are those of an agent of this attempt: another process may have got the number. */
static bool is_agent(pid_t pid, int shard, int attempt)
{
    char path[64], wanted[64], arguments[ARGUMENTS_SIZE];
    int n = snprintf(wanted, sizeof(wanted), "--shard%c%d%c--attempt%c%d", 0, shard, 0, 0, attempt);
    (void)snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t size = fread(arguments, 1, sizeof(arguments), f);
    (void)fclose(f);
    return memmem(arguments, size, wanted, (size_t)n + 1) != NULL;
}

static void forget(struct leader *l)
{
    if (l->pidfd >= 0)
        (void)close(l->pidfd);
    l->pidfd = -1;
}

void leader_meet(struct leader *l, pid_t pid, int shard, int attempt)
{
    forget(l);
    l->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec */
    if (l->pidfd >= 0 && !is_agent(pid, shard, attempt))
        forget(l);
}

static bool ends_within(const struct leader *l, int ms)
{
    struct pollfd p = {.fd = l->pidfd, .events = POLLIN};
    return poll(&p, 1, ms) > 0;
}

bool leader_gone(const struct leader *l)
{
    return l->pidfd >= 0 && ends_within(l, 0);
}

void leader_end(struct leader *l)
{
    static const struct step {
        int signal, ms;
    } steps[] = {{SIGTERM, STOP_MS}, {SIGKILL, KILL_MS}};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && l->pidfd >= 0 && !ends_within(l, 0); i++)
        if (syscall(SYS_pidfd_send_signal, l->pidfd, steps[i].signal, NULL, 0) < 0 || ends_within(l, steps[i].ms))
            break;
    forget(l);
}
