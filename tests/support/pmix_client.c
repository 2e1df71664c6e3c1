/* SPDX-License-Identifier: Apache-2.0 */
/* A small PMIx client that misbehaves on demand, for tests of launchers.
 *
 *     pmix_client ACT [RANK [DIR [WORLD]]]       the rank (default 0) that does ACT; all others do "ok"
 *
 * Acts: ok; early (exits with 3 before PMIx_Init); fence (is killed while the others are in the fence); after (exits with 4 after
 * PMIx_Finalize); silent (ends with 0 before PMIx_Init); unfinished (ends with 0 without PMIx_Finalize); orphan (leaves a process of
 * its own session behind); hang (sleeps after PMIx_Finalize, deaf to SIGTERM); wait (sleeps after PMIx_Finalize).
 * Every rank writes its pid to DIR/pid.RANK, an orphan to DIR/orphan, and DIR/ready.RANK once it has left PMIx; who misbehaves waits until
 * all WORLD pids are there. A correct world prints "ok W" on rank 0's standard output; a failed fence ends with 5. */
#include <errno.h>
#include <pmix.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir;

static void note(const char *name, long rank, long value)
{
    char path[512];
    if (!dir)
        return;
    (void)snprintf(path, sizeof(path), rank >= 0 ? "%s/%s.%ld" : "%s/%s", dir, name, rank);
    FILE *f = fopen(path, "we");
    if (!f || fprintf(f, "%ld\n", value) < 0 || fclose(f) == EOF)
        exit(9);
}

/* Ranks that are killed before they have noted anything could not be looked for. */
static void await_notes(long world)
{
    for (long r = 0; r < world; r++) {
        char path[512];
        struct stat st;
        (void)snprintf(path, sizeof(path), "%s/pid.%ld", dir, r);
        for (int i = 0; i < 20000 && (stat(path, &st) != 0 || st.st_size == 0); i++)
            (void)usleep(1000);
    }
}

static void put_own(const pmix_proc_t *self)
{
    pmix_value_t value;
    uint32_t number = self->rank * 10;
    PMIX_VALUE_LOAD(&value, &number, PMIX_UINT32);
    if (PMIx_Put(PMIX_GLOBAL, "number", &value) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
        exit(6);
}

static void collect(const pmix_proc_t *self)
{
    pmix_info_t info;
    pmix_proc_t all;
    bool yes = true;
    PMIX_LOAD_PROCID(&all, self->nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    int rc = PMIx_Fence(&all, 1, &info, 1);
    if (rc != PMIX_SUCCESS) {
        (void)fprintf(stderr, "rank %u: fence: %s\n", self->rank, PMIx_Error_string(rc));
        exit(5);
    }
}

static uint32_t size_of_world(const pmix_proc_t *self)
{
    pmix_proc_t all;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&all, self->nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS || value->type != PMIX_UINT32)
        exit(7);
    uint32_t n = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return n;
}

/* Every rank's number must have arrived. */
static void check_all(const pmix_proc_t *self, uint32_t world)
{
    for (uint32_t r = 0; r < world; r++) {
        pmix_proc_t peer;
        pmix_value_t *value = NULL;
        PMIX_LOAD_PROCID(&peer, self->nspace, r);
        if (PMIx_Get(&peer, "number", NULL, 0, &value) != PMIX_SUCCESS || value->data.uint32 != r * 10)
            exit(8);
        PMIX_VALUE_RELEASE(value);
    }
}

static void leave_orphan(void)
{
    pid_t pid = fork();
    if (pid != 0)
        return;
    (void)setsid();
    if (fork() == 0) {
        note("orphan", -1, (long)getpid());
        (void)sleep(600);
    }
    _exit(0);
}

static void before_init(const char *act)
{
    if (strcmp(act, "early") == 0)
        exit(3);
    if (strcmp(act, "silent") == 0)
        exit(0);
}

static void after_finalize(const char *act)
{
    if (strcmp(act, "after") == 0)
        exit(4);
    if (strcmp(act, "orphan") == 0)
        leave_orphan();
    if (strcmp(act, "hang") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    if (strcmp(act, "hang") == 0 || strcmp(act, "wait") == 0)
        (void)sleep(600);
}

int main(int argc, char **argv)
{
    const char *act = argc > 1 ? argv[1] : "ok";
    long who = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    const char *own = getenv("PMIX_RANK");
    pmix_proc_t self;
    dir = argc > 3 ? argv[3] : NULL;
    long rank = own ? strtol(own, NULL, 10) : -1;
    note("pid", rank, (long)getpid());
    if (rank != who && who >= 0)
        act = "ok";
    if (strcmp(act, "ok") != 0)
        await_notes(argc > 4 ? strtol(argv[4], NULL, 10) : 0);
    before_init(act);
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 10;
    put_own(&self);
    if (strcmp(act, "fence") == 0)
        (void)kill(getpid(), SIGKILL);
    if (strcmp(act, "unfinished") == 0)
        _exit(0);
    collect(&self);
    uint32_t world = size_of_world(&self);
    check_all(&self, world);
    if (PMIx_Finalize(NULL, 0) != PMIX_SUCCESS)
        return 11;
    note("ready", rank, (long)getpid());
    if (self.rank == 0) {
        printf("ok %u\n", world);
        (void)fflush(stdout);
    }
    after_finalize(act);
    return 0;
}
