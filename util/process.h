/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes: exec with exactly the environment and descriptors that are asked for, in a process group of their own, dying
 * with their parent.
 *
 * Call process_spawn from a thread that lives as long as the child may: Linux sends the parent-death signal when the
 * *thread* that forked ends. */
#ifndef PKB_UTIL_PROCESS_H
#define PKB_UTIL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

#define PROCESS_MAX_FDS 8

struct process_spec {
    const char *const *argv;  /* argv[0] is the path that is executed (no PATH search) */
    const char *const *env;   /* the whole environment, "NAME=value"; NULL: the caller's own */
    const char *cwd;          /* NULL: unchanged */
    int stdin_fd;             /* -1: /dev/null */
    int stdout_fd;            /* -1: /dev/null */
    int stderr_fd;            /* -1: /dev/null */
    int fds[PROCESS_MAX_FDS]; /* become descriptors 3, 4, ... of the child; all others are closed on exec */
    int n_fds;
    uint64_t address_space;   /* RLIMIT_AS in bytes; 0: unlimited */
    uint64_t data_bytes;      /* RLIMIT_DATA (private writable memory, mapped or not from files); 0: unlimited */
    uint64_t cpu_seconds;     /* RLIMIT_CPU; 0: unlimited */
    uint64_t file_bytes;      /* RLIMIT_FSIZE; 0: unlimited */
    bool no_core;             /* RLIMIT_CORE 0 */
    bool ignore_user_signals; /* SIGUSR1 and SIGUSR2 do nothing, unless the program asks for them */
    bool same_group;          /* stay in the caller's process group instead of leading a new one */
    int death_signal;         /* sent when the parent thread dies; 0: SIGKILL */
};

struct process {
    pid_t pid; /* also the process group, unless same_group; -1: none */
    int pidfd; /* readable when the child has ended; -1: none */
};

#define PROCESS_NONE ((struct process){.pid = -1, .pidfd = -1})

/* Starts a child. A failed exec comes back here, as errno with the program's path. 0 or -1. */
int process_spawn(const struct process_spec *spec, struct process *p, struct pkb_error *err);

/* Waits up to timeout_ms (-1: for ever). 1: ended, *status is the wait status and *p is PROCESS_NONE; 0: still running; -1: error. */
int process_wait(struct process *p, int timeout_ms, int *status, struct pkb_error *err);

/* Kills the child's whole process group with SIGKILL and reaps the child. One that the kernel does not let go (a device's driver may hang)
 * is left behind after a minute. Does nothing for PROCESS_NONE. */
void process_kill(struct process *p);

/* "exited with code 3", "killed by signal 11 (Segmentation fault)" */
void process_describe_status(int status, char *text, size_t size);

/* Nanoseconds for which the threads of a process have been ready to run but had no core, since it started (0 or more; threads
 * that have ended do not count). -1 when the kernel does not say or the process is gone. */
int64_t process_queue_wait(pid_t pid);

/* Runs a child to its end, killing its group after timeout_ms. 1: timed out (killed), 0: ended with *status, -1: not started. */
int process_run(const struct process_spec *spec, int timeout_ms, int *status, struct pkb_error *err);

#endif
