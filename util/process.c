/* SPDX-License-Identifier: Apache-2.0 */
#include "util/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/file.h"

/* First descriptor that the child's dup2 dance cannot collide with. */
#define SAFE_FD 64

/* From SIGKILL to having ended. */
#define KILL_WAIT_MS 60000

static int set_limit(int what, uint64_t value)
{
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    return setrlimit((__rlimit_resource_t)what, &limit);
}

static int child_limits(const struct process_spec *spec)
{
    if (spec->address_space && set_limit(RLIMIT_AS, spec->address_space) < 0)
        return -1;
    if (spec->data_bytes && set_limit(RLIMIT_DATA, spec->data_bytes) < 0)
        return -1;
    if (spec->cpu_seconds && set_limit(RLIMIT_CPU, spec->cpu_seconds) < 0)
        return -1;
    if (spec->file_bytes && set_limit(RLIMIT_FSIZE, spec->file_bytes) < 0)
        return -1;
    return spec->no_core ? set_limit(RLIMIT_CORE, 0) : 0;
}

/* Puts the wanted descriptors at 0.. and marks all others close-on-exec. Goes through high numbers, since a source may be the
 * target of another. */
static int child_descriptors(const struct process_spec *spec)
{
    int want[3 + PROCESS_MAX_FDS] = {spec->stdin_fd, spec->stdout_fd, spec->stderr_fd};
    int n = 3 + spec->n_fds;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -1;
    for (int i = 0; i < spec->n_fds; i++)
        want[3 + i] = spec->fds[i];
    for (int i = 0; i < n; i++) {
        want[i] = fcntl(want[i] < 0 ? null : want[i], F_DUPFD_CLOEXEC, SAFE_FD);
        if (want[i] < 0)
            return -1;
    }
    for (int i = 0; i < n; i++)
        if (dup2(want[i], i) < 0)
            return -1;
    return (int)syscall(SYS_close_range, (unsigned)n, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
}

static void child_reset_signals(const struct process_spec *spec)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL); /* fails for SIGKILL, SIGSTOP and the C library's own */
    if (spec->ignore_user_signals) {
        (void)signal(SIGUSR1, SIG_IGN);
        (void)signal(SIGUSR2, SIG_IGN);
    }
}

static int child_prepare(const struct process_spec *spec, pid_t parent)
{
    child_reset_signals(spec);
    if (!spec->same_group && setpgid(0, 0) < 0)
        return -1;
    if (prctl(PR_SET_PDEATHSIG, spec->death_signal ? spec->death_signal : SIGKILL) < 0)
        return -1;
    if (getppid() != parent) { /* it died before prctl could tell the kernel */
        errno = ECHILD;
        return -1;
    }
    if (spec->cwd && chdir(spec->cwd) < 0)
        return -1;
    return child_limits(spec);
}

static void child_run(const struct process_spec *spec, pid_t parent, int report)
{
    extern char **environ;
    /* The report pipe must survive child_descriptors: it is dup'ed above the range that dup2 writes. */
    int fd = fcntl(report, F_DUPFD_CLOEXEC, SAFE_FD);
    if (fd >= 0 && child_descriptors(spec) == 0 && child_prepare(spec, parent) == 0)
        execve(spec->argv[0], (char *const *)spec->argv, spec->env ? (char *const *)spec->env : environ);
    int saved = errno;
    (void)!write(fd >= 0 ? fd : report, &saved, sizeof(saved));
    _exit(127);
}

static int read_report(int fd)
{
    int child_errno = 0;
    ssize_t n;
    do
        n = read(fd, &child_errno, sizeof(child_errno));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(child_errno) ? child_errno : 0;
}

static int finish_spawn(pid_t pid, const struct process_spec *spec, int report, struct process *p, struct pkb_error *err)
{
    int failed = read_report(report);
    if (failed) {
        (void)waitpid(pid, NULL, 0);
        errno = failed;
        return pkb_error_errno(err, "cannot execute %s", spec->argv[0]);
    }
    p->pid = pid;
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (p->pidfd < 0) {
        pkb_error_errno(err, "pidfd_open");
        process_kill(p);
        return -1;
    }
    (void)fcntl(p->pidfd, F_SETFD, FD_CLOEXEC);
    return 0;
}

int process_spawn(const struct process_spec *spec, struct process *p, struct pkb_error *err)
{
    int report[2];
    *p = PROCESS_NONE;
    if (spec->n_fds < 0 || spec->n_fds > PROCESS_MAX_FDS)
        return pkb_error_set(err, "cannot execute %s: too many descriptors", spec->argv[0]);
    if (pipe2(report, O_CLOEXEC) < 0)
        return pkb_error_errno(err, "pipe");
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        child_run(spec, parent, report[1]);
    int saved = errno;
    (void)close(report[1]);
    errno = saved;
    int rc = pid < 0 ? pkb_error_errno(err, "fork") : finish_spawn(pid, spec, report[0], p, err);
    (void)close(report[0]);
    return rc;
}

static int reap(struct process *p, int *status)
{
    pid_t r;
    do
        r = waitpid(p->pid, status, 0);
    while (r < 0 && errno == EINTR);
    if (p->pidfd >= 0)
        (void)close(p->pidfd);
    *p = PROCESS_NONE;
    return r < 0 ? -1 : 0;
}

int process_wait(struct process *p, int timeout_ms, int *status, struct pkb_error *err)
{
    struct pollfd pfd = {.fd = p->pidfd, .events = POLLIN};
    int n = poll(&pfd, 1, timeout_ms);
    if (n < 0 && errno != EINTR)
        return pkb_error_errno(err, "poll");
    if (n <= 0)
        return 0;
    return reap(p, status) < 0 ? pkb_error_errno(err, "waitpid") : 1;
}

void process_kill(struct process *p)
{
    int status;
    if (p->pid <= 0)
        return;
    int saved = errno;
    /* The group first: the child may have left it, or its grandchildren may outlive it. */
    (void)kill(-p->pid, SIGKILL);
    (void)kill(p->pid, SIGKILL);
    struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
    if (p->pidfd >= 0 && poll(&ended, 1, KILL_WAIT_MS) == 0) {
        (void)close(p->pidfd);
        *p = PROCESS_NONE;
    } else {
        (void)reap(p, &status);
    }
    errno = saved;
}

void process_describe_status(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        (void)snprintf(text, size, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        (void)snprintf(text, size, "exited with code %d", WEXITSTATUS(status));
}

/* The second number of /proc/PID/task/TID/schedstat. */
static int64_t thread_queue_wait(int tasks, const char *tid)
{
    char path[64], text[128];
    long long running, waiting;
    (void)snprintf(path, sizeof(path), "%.20s/schedstat", tid);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return sscanf(text, "%lld %lld", &running, &waiting) == 2 && waiting >= 0 ? waiting : -1;
}

int64_t process_queue_wait(pid_t pid)
{
    char path[64];
    int64_t sum = -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return -1;
    for (struct dirent *e = readdir(tasks); e; e = readdir(tasks)) {
        int64_t wait = e->d_name[0] == '.' ? -1 : thread_queue_wait(dirfd(tasks), e->d_name);
        if (wait >= 0)
            sum = (sum < 0 ? 0 : sum) + wait;
    }
    (void)closedir(tasks);
    return sum;
}

int process_run(const struct process_spec *spec, int timeout_ms, int *status, struct pkb_error *err)
{
    struct process p;
    if (process_spawn(spec, &p, err) < 0)
        return -1;
    pid_t group = p.pid;
    int rc = process_wait(&p, timeout_ms, status, err);
    if (rc == 1 && !spec->same_group)
        (void)kill(-group, SIGKILL); /* what it left running */
    else if (rc != 1)
        process_kill(&p);
    return rc == 1 ? 0 : rc == 0 ? 1 : -1;
}
