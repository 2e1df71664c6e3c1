/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/local/orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* An orphan's own children become ours when it dies, so several rounds may be needed. */
#define MAX_ROUNDS 1000

void orphans_reap(void)
{
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
            return;
        /* Ranks lead their groups; what is in a group of its own making is not told apart from one and waits for orphans_kill. */
        if (getpgid(info.si_pid) == info.si_pid)
            return;
        (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* Sends SIGKILL to every child that the kernel lists; the number of them. */
static int kill_children(void)
{
    char path[64];
    long pid;
    int n = 0;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    while (fscanf(f, "%ld", &pid) == 1) {
        (void)kill((pid_t)pid, SIGKILL);
        n++;
    }
    (void)fclose(f);
    return n;
}

void orphans_kill(void)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        if (kill_children() == 0)
            return;
        pid_t pid = waitpid(-1, NULL, 0);
        if (pid < 0 && errno != EINTR)
            return;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}
