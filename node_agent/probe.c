/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/probe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/gpu.h"

/* Caches of network file systems show a new file this late at most. */
#define LATE_NS (10LL * 1000000000)
#define LOOK_AGAIN_NS (100L * 1000000)

static char *path_of(const char *folder, int rank, struct pkb_error *err)
{
    return pkb_format(err, "%s/probe.%d", folder, rank);
}

int probe_leave(const char *folder, int rank, struct pkb_error *err)
{
    char *path = path_of(folder, rank, err);
    int rc = path ? pkb_file_write(path, "", 0, err) : -1;
    free(path);
    return rc;
}

int probe_find(const char *folder, int rank, struct pkb_error *err)
{
    const struct timespec pause = {0, LOOK_AGAIN_NS};
    int64_t until = pkb_now_ns() + LATE_NS;
    char *path = path_of(folder, rank, err);
    bool there = path && pkb_file_exists(path);
    while (path && !there && pkb_now_ns() < until) {
        (void)nanosleep(&pause, NULL);
        there = pkb_file_exists(path);
    }
    if (path && !there)
        pkb_error_set(err, "%s, written by another rank, is not seen here: the folder is not shared", path);
    free(path);
    return there ? 0 : -1;
}

void probe_remove(const char *folder, int rank)
{
    char *path = path_of(folder, rank, NULL);
    if (path)
        (void)unlink(path);
    free(path);
}

static json_int_t shared_memory_mb(void)
{
    struct statvfs fs;
    return statvfs("/dev/shm", &fs) == 0 ? (json_int_t)(((uint64_t)fs.f_bavail * fs.f_frsize) >> 20) : 0;
}

static json_int_t memory_mb(void)
{
    struct sysinfo info;
    return sysinfo(&info) == 0 ? (json_int_t)(((uint64_t)info.totalram * info.mem_unit) >> 20) : 0;
}

/* -1: unlimited. */
static json_int_t limit(__rlimit_resource_t which, int shift)
{
    struct rlimit l;
    if (getrlimit(which, &l) < 0)
        return 0;
    return l.rlim_cur == RLIM_INFINITY ? -1 : (json_int_t)(l.rlim_cur >> shift);
}

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

static double clock_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

json_t *probe_report(int rank, const char *host, const char *folder)
{
    return json_pack("{s:i, s:s, s:f, s:s, s:I, s:I, s:i, s:I, s:I, s:i}", "rank", rank, "host", host, "clock", clock_seconds(),
                     "folder", folder, "shm_mb", shared_memory_mb(), "memory_mb", memory_mb(), "cpus", processors(), "files",
                     limit(RLIMIT_NOFILE, 0), "locked_kb", limit(RLIMIT_MEMLOCK, 10), "gpus", gpu_count());
}
