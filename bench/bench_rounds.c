/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds per second of eight agents over the star, and whether memory grows; against collecting PMIx fences of as many processes.
 *
 * Usage: bench_rounds [ROUNDS [FENCES]]. As "bench_rounds --fences N" it is one rank of a PMIx world. */
#include <fcntl.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_agent/rounds.h"
#include "node_agent/star.h"
#include "util/clock.h"
#include "util/paths.h"
#include "util/process.h"

#define WORLD 8
#define PAYLOAD 64
#define WARMUP 2000
#define TIMEOUT_MS 20000
#define MAX_GROWTH_KIB 64 /* pages that are touched late; the same for any number of rounds */

static int fail(const char *what)
{
    (void)fprintf(stderr, "bench_rounds: %s\n", what);
    return 1;
}

/* Resident memory in KiB. */
static long resident(void)
{
    long size, pages = -1;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return -1;
    if (fscanf(f, "%ld %ld", &size, &pages) != 2)
        pages = -1;
    (void)fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------- */

static int play(struct rounds *r, long n)
{
    char data[PAYLOAD] = {0};
    for (long i = 0; i < n; i++)
        if (rounds_submit(r, ROUND_EXCHANGE, data, sizeof(data), NULL) < 0 || rounds_wait(r, TIMEOUT_MS, NULL) != 0)
            return -1;
    return 0;
}

static _Noreturn void member(int port, int rank, const uint8_t *cookie, long n)
{
    static const char *const address[] = {"127.0.0.1"};
    struct frames *f = star_connect(address, 1, port, rank, WORLD, cookie, rounds_hub_limit(WORLD), TIMEOUT_MS, NULL);
    struct rounds *r = f ? rounds_create_member(rank, WORLD, f, NULL) : NULL;
    (void)resident();
    if (!r || play(r, WARMUP) < 0)
        _exit(1);
    long before = resident();
    int rc = play(r, n);
    _exit(rc < 0 ? 1 : resident() - before > MAX_GROWTH_KIB ? 2 : 0);
}

static int reap_members(const pid_t *pids)
{
    int worst = 0;
    for (int i = 1; i < WORLD; i++) {
        int status;
        if (waitpid(pids[i], &status, 0) < 0 || !WIFEXITED(status))
            worst = 1;
        else if (WEXITSTATUS(status) > worst)
            worst = WEXITSTATUS(status);
    }
    return worst;
}

/* Rounds per second, or -1. */
static double time_rounds(struct rounds *hub, long n)
{
    (void)resident(); /* the first use of a function costs pages, too */
    if (play(hub, WARMUP) < 0)
        return -1;
    long before = resident();
    int64_t start = pkb_now_ns();
    if (play(hub, n) < 0)
        return -1;
    double seconds = (double)(pkb_now_ns() - start) / 1e9;
    long growth = resident() - before;
    (void)printf("rounds: %ld with %d ranks in %.2f s: %.0f per second; hub's memory grew by %ld KiB\n", n, WORLD, seconds,
                 (double)n / seconds, growth);
    return growth > MAX_GROWTH_KIB ? -1 : (double)n / seconds;
}

static double run_rounds(long n)
{
    uint8_t cookie[STAR_COOKIE] = {1};
    struct frames *members[WORLD];
    pid_t pids[WORLD];
    int port, fd = star_listen(true, &port, NULL);
    if (fd < 0)
        return -1;
    for (int i = 1; i < WORLD; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            return -1;
        if (pids[i] == 0)
            member(port, i, cookie, n);
    }
    int rc = star_accept(fd, WORLD, cookie, rounds_member_limit(), TIMEOUT_MS, members, NULL, NULL);
    struct rounds *hub = rc == 0 ? rounds_create_hub(WORLD, members, NULL) : NULL;
    double rate = hub ? time_rounds(hub, n) : -1;
    rounds_destroy(hub);
    (void)close(fd);
    int worst = reap_members(pids);
    if (worst == 2)
        (void)fprintf(stderr, "bench_rounds: a member's memory grew\n");
    return worst == 0 ? rate : -1;
}

/* ---- fences ---------------------------------------------------------------------------------------------------------- */

static int fence(const pmix_proc_t *self)
{
    pmix_proc_t all;
    pmix_info_t info;
    bool collect = true;
    PMIX_PROC_LOAD(&all, self->nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    pmix_status_t rc = PMIx_Fence(&all, 1, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return rc == PMIX_SUCCESS ? 0 : -1;
}

/* One rank of the peer. */
static int run_fences(long n)
{
    pmix_proc_t self;
    int rc = PMIx_Init(&self, NULL, 0) == PMIX_SUCCESS ? 0 : -1;
    for (int i = 0; rc == 0 && i < 20; i++)
        rc = fence(&self);
    int64_t start = pkb_now_ns();
    for (long i = 0; rc == 0 && i < n; i++)
        rc = fence(&self);
    double seconds = (double)(pkb_now_ns() - start) / 1e9;
    if (rc == 0 && self.rank == 0)
        (void)printf("%.6f\n", (double)n / seconds);
    (void)fflush(stdout);
    (void)PMIx_Finalize(NULL, 0);
    return rc == 0 ? 0 : 1;
}

/* Runs this program under the local launcher and reads the rate that rank 0 prints; -1: failed. */
static double measure_fences(const char *self, long n)
{
    char count[32], ranks[16], text[64] = "";
    int out[2], status = -1;
    char *launcher = pkb_path(PKB_PATH_LIBEXEC, "pkb-launch-local", NULL);
    if (!launcher || pipe2(out, O_CLOEXEC) < 0)
        return -1;
    (void)snprintf(count, sizeof(count), "%ld", n);
    (void)snprintf(ranks, sizeof(ranks), "%d", WORLD);
    const char *const argv[] = {launcher, "--ranks", ranks, "--", self, "--fences", count, NULL};
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = out[1], .stderr_fd = STDERR_FILENO};
    int rc = process_run(&spec, 120000, &status, NULL);
    (void)close(out[1]);
    if (rc != 0 || status != 0 || read(out[0], text, sizeof(text) - 1) <= 0)
        text[0] = '\0';
    (void)close(out[0]);
    free(launcher);
    return text[0] != '\0' ? strtod(text, NULL) : -1;
}

int main(int argc, char **argv)
{
    char self[4096];
    if (argc == 3 && strcmp(argv[1], "--fences") == 0)
        return run_fences(strtol(argv[2], NULL, 10));
    long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 100000, fences = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (rounds < 1 || fences < 1 || length <= 0)
        return fail("usage: bench_rounds [ROUNDS [FENCES]]");
    self[length] = '\0';
    double theirs = measure_fences(self, fences);
    if (theirs <= 0)
        return fail("the PMIx world failed");
    (void)printf("fences: %ld with %d ranks: %.0f per second\n", fences, WORLD, theirs);
    (void)fflush(stdout); /* before forking */
    double ours = run_rounds(rounds);
    if (ours <= 0)
        return fail("the rounds failed, or memory grew");
    (void)printf("RATIO rounds_per_second %.2f rounds over the agents' star / collecting PMIx fences, %d ranks\n", ours / theirs,
                 WORLD);
    return 0;
}
