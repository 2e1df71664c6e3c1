/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHM_FOLDER "/dev/shm"
#define KILL_SWEEPS 64 /* a killed child's own children become ours: look again, but not for ever */

int leftovers_adopt(struct pkb_error *err)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? pkb_error_errno(err, "prctl") : 0;
}

static bool kept(pid_t pid, const pid_t *keep, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (keep[i] == pid)
            return true;
    return false;
}

static void kill_child(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* One look at the list of children; returns how many were killed. */
static int sweep(const pid_t *keep, size_t n)
{
    int killed = 0;
    long pid;
    FILE *f = fopen("/proc/thread-self/children", "re");
    if (!f)
        return 0; /* a kernel without this list */
    while (fscanf(f, "%ld", &pid) == 1) {
        if (!kept((pid_t)pid, keep, n)) {
            kill_child((pid_t)pid);
            killed++;
        }
    }
    (void)fclose(f);
    return killed;
}

void leftovers_kill(const pid_t *keep, size_t n)
{
    for (int i = 0; i < KILL_SWEEPS && sweep(keep, n) > 0; i++)
        ;
}

static void unlink_object(const char *name)
{
    char path[NAME_MAX + 2];
    (void)snprintf(path, sizeof(path), "/%s", name);
    (void)shm_unlink(path);
}

void leftovers_unlink(const char *prefix)
{
    const char *start = prefix[0] == '/' ? prefix + 1 : prefix;
    DIR *d = opendir(SHM_FOLDER);
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strncmp(e->d_name, start, strlen(start)) == 0)
            unlink_object(e->d_name);
    (void)closedir(d);
}

/* Inode of the pid namespace: /dev/shm may be shared by containers whose pids mean different processes. */
static unsigned long pid_namespace(void)
{
    struct stat s;
    return stat("/proc/self/ns/pid", &s) == 0 ? (unsigned long)s.st_ino : 0;
}

void leftovers_prefix(char *prefix, size_t size)
{
    (void)snprintf(prefix, size, "/pkb.%lx.%ld", pid_namespace(), (long)getpid());
}

void leftovers_unlink_orphans(void)
{
    DIR *d = opendir(SHM_FOLDER);
    unsigned long here = pid_namespace(), space;
    long pid;
    if (!d)
        return;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (sscanf(e->d_name, "pkb.%lx.%ld.", &space, &pid) == 2 && space == here && pid > 0 && kill((pid_t)pid, 0) < 0 &&
            errno == ESRCH)
            unlink_object(e->d_name);
    (void)closedir(d);
}
