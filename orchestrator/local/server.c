/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/local/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pmix.h>
#include <pmix_server.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"

struct server {
    pmix_nspace_t nspace;
    int ranks;
    int queue[2]; /* pipe of struct server_event; writes of this size are atomic */
};

/* fence_nb gets no argument of ours, so the queue's writing end is known to the file; there is one server per process anyway. */
static int post_fd = -1;

/* ---- callbacks, on the library's thread ------------------------------------------------------------------------------ */

static void post(const struct server_event *e)
{
    (void)pkb_write_all(post_fd, e, sizeof(*e));
}

static void post_rank(enum server_event_kind kind, const pmix_proc_t *proc)
{
    struct server_event e = {.kind = kind, .rank = (int)proc->rank};
    post(&e);
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)done, (void)arg;
    post_rank(SERVER_CONNECTED, proc);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)done, (void)arg;
    post_rank(SERVER_FINALIZED, proc);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[], pmix_proc_t procs[], size_t n,
                              pmix_op_cbfunc_t done, void *arg)
{
    (void)object, (void)status, (void)text, (void)procs, (void)n, (void)done, (void)arg;
    post_rank(SERVER_ABORTED, proc);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t n, const pmix_info_t info[], size_t ninfo, char *data,
                              size_t size, pmix_modex_cbfunc_t done, void *arg)
{
    struct server_event e = {.kind = SERVER_FENCE, .rank = -1, .fence = {data, size, done, arg}};
    (void)procs, (void)n, (void)info, (void)ninfo;
    post(&e);
    return PMIX_SUCCESS;
}

/* ---- waiting for operations that answer through a callback ------------------------------------------------------------ */

struct operation {
    sem_t done;
    pmix_status_t status;
};

static void operation_done(pmix_status_t status, void *arg)
{
    struct operation *op = arg;
    op->status = status;
    (void)sem_post(&op->done);
}

/* The result of an operation that was started with operation_done. */
static int operation_wait(struct operation *op, pmix_status_t started, const char *what, struct pkb_error *err)
{
    if (started == PMIX_SUCCESS) {
        while (sem_wait(&op->done) < 0 && errno == EINTR)
            ;
        started = op->status;
    }
    (void)sem_destroy(&op->done);
    if (started == PMIX_SUCCESS || started == PMIX_OPERATION_SUCCEEDED)
        return 0;
    return pkb_error_set(err, "PMIx: %s: %s", what, PMIx_Error_string(started));
}

/* ---- the namespace ---------------------------------------------------------------------------------------------------- */

static void load_u32(pmix_info_t *info, const char *key, uint32_t value)
{
    PMIX_INFO_LOAD(info, key, &value, PMIX_UINT32);
}

static void load_proc(pmix_info_t *info, uint32_t rank)
{
    enum { N = 6 };
    pmix_data_array_t *array;
    uint16_t local = (uint16_t)rank;
    pmix_rank_t number = rank;
    PMIX_DATA_ARRAY_CREATE(array, N, PMIX_INFO);
    pmix_info_t *of = array->array;
    PMIX_INFO_LOAD(&of[0], PMIX_RANK, &number, PMIX_PROC_RANK); /* must be the first */
    PMIX_INFO_LOAD(&of[1], PMIX_GLOBAL_RANK, &number, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&of[2], PMIX_APP_RANK, &number, PMIX_PROC_RANK);
    load_u32(&of[3], PMIX_APPNUM, 0);
    PMIX_INFO_LOAD(&of[4], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
    load_u32(&of[5], PMIX_NODEID, 0);
    PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
    info->value.type = PMIX_DATA_ARRAY;
    info->value.data.darray = array;
}

/* Which node (this one) holds which ranks (all): without the two maps a client's PMIx_Init fails. */
static int load_maps(pmix_info_t *info, int ranks, struct pkb_error *err)
{
    char host[HOST_NAME_MAX + 1] = "localhost", list[32];
    char *nodes = NULL, *procs = NULL;
    int rc = 0;
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(list, sizeof(list), ranks > 1 ? "0-%d" : "%d", ranks - 1);
    if (PMIx_generate_regex(host, &nodes) != PMIX_SUCCESS || PMIx_generate_ppn(list, &procs) != PMIX_SUCCESS) {
        rc = pkb_error_set(err, "PMIx: cannot describe %d ranks on node %s", ranks, host);
    } else {
        PMIX_INFO_LOAD(&info[0], PMIX_NODE_MAP, nodes, PMIX_REGEX);
        PMIX_INFO_LOAD(&info[1], PMIX_PROC_MAP, procs, PMIX_REGEX);
    }
    free(nodes);
    free(procs);
    return rc;
}

static int register_namespace(struct server *s, struct pkb_error *err)
{
    enum { COMMON = 8 };
    struct operation op = {.status = PMIX_ERROR};
    size_t n = COMMON + (size_t)s->ranks;
    uint32_t ranks = (uint32_t)s->ranks;
    pmix_info_t *info;
    PMIX_INFO_CREATE(info, n);
    if (!info)
        return pkb_error_set(err, "out of memory");
    int rc = load_maps(info, s->ranks, err);
    if (rc == 0) {
        load_u32(&info[2], PMIX_JOB_SIZE, ranks);
        load_u32(&info[3], PMIX_UNIV_SIZE, ranks);
        load_u32(&info[4], PMIX_LOCAL_SIZE, ranks);
        load_u32(&info[5], PMIX_NODE_SIZE, ranks);
        load_u32(&info[6], PMIX_JOB_NUM_APPS, 1);
        PMIX_INFO_LOAD(&info[7], PMIX_JOBID, s->nspace, PMIX_STRING);
        for (uint32_t r = 0; r < ranks; r++)
            load_proc(&info[COMMON + r], r);
        (void)sem_init(&op.done, 0, 0);
        rc = operation_wait(&op, PMIx_server_register_nspace(s->nspace, s->ranks, info, n, operation_done, &op),
                            "register the namespace", err);
    }
    PMIX_INFO_FREE(info, n);
    return rc;
}

static int register_ranks(struct server *s, struct pkb_error *err)
{
    for (int r = 0; r < s->ranks; r++) {
        struct operation op = {.status = PMIX_ERROR};
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, s->nspace, (pmix_rank_t)r);
        (void)sem_init(&op.done, 0, 0);
        if (operation_wait(&op, PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, operation_done, &op),
                           "register a rank", err) < 0)
            return -1;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------------- */

static bool of_outer_world(const char *variable)
{
    if (strncmp(variable, "PMIX_MCA_", 9) == 0)
        return false;
    return strncmp(variable, "PMIX_", 5) == 0 || strncmp(variable, "PMI_", 4) == 0;
}

/* Started inside another PMIx world (a step of Slurm), the library would take that one's variables for ours. */
static int clean_environment(struct pkb_error *err)
{
    extern char **environ;
    char name[256];
    for (size_t i = 0; environ[i];) {
        size_t n = strcspn(environ[i], "=");
        if (!of_outer_world(environ[i]) || n >= sizeof(name)) {
            i++;
            continue;
        }
        memcpy(name, environ[i], n);
        name[n] = '\0';
        if (unsetenv(name) < 0)
            return pkb_error_errno(err, "unsetenv %s", name);
    }
    /* Job data in messages rather than in shared files: nothing is left behind whatever happens. */
    if (setenv("PMIX_MCA_gds", "hash", 1) < 0 || setenv("PMIX_MCA_psec", "native", 0) < 0)
        return pkb_error_errno(err, "setenv");
    return 0;
}

static int start(struct server *s, struct pkb_error *err)
{
    static pmix_server_module_t module = {
        .client_connected = on_connected, .client_finalized = on_finalized, .abort = on_abort, .fence_nb = on_fence};
    if (pipe2(s->queue, O_CLOEXEC) < 0)
        return pkb_error_errno(err, "pipe");
    if (fcntl(s->queue[0], F_SETFL, O_NONBLOCK) < 0)
        return pkb_error_errno(err, "fcntl");
    post_fd = s->queue[1];
    pmix_status_t rc = PMIx_server_init(&module, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return pkb_error_set(err, "PMIx: cannot start a server: %s (is the loopback interface up?)", PMIx_Error_string(rc));
    return 0;
}

struct server *server_create(int ranks, struct pkb_error *err)
{
    struct server *s = calloc(1, sizeof(*s));
    if (!s) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    s->ranks = ranks;
    s->queue[0] = s->queue[1] = -1;
    (void)snprintf(s->nspace, sizeof(s->nspace), "pkb-%ld", (long)getpid());
    if (clean_environment(err) == 0 && start(s, err) == 0 && register_namespace(s, err) == 0 && register_ranks(s, err) == 0)
        return s;
    /* The library may still call back, and finalizing a half-started server is as risky as one with dead clients: the caller
     * ends the process. */
    return NULL;
}

int server_fd(const struct server *s)
{
    return s->queue[0];
}

bool server_next(struct server *s, struct server_event *e)
{
    ssize_t n;
    do
        n = read(s->queue[0], e, sizeof(*e));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*e);
}

void server_answer(const struct server_fence *fence, bool complete)
{
    if (complete) {
        fence->done(PMIX_SUCCESS, fence->data, fence->size, fence->arg, free, fence->data);
        return;
    }
    fence->done(PMIX_ERR_PROC_ABORTED, NULL, 0, fence->arg, NULL, NULL);
    free(fence->data);
}

static char **copy_environment(void)
{
    extern char **environ;
    size_t n = 0;
    while (environ[n])
        n++;
    char **copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(environ[i]);
        if (!copy[i]) {
            server_environment_free(copy);
            return NULL;
        }
    }
    return copy;
}

char **server_environment(struct server *s, int rank, struct pkb_error *err)
{
    pmix_proc_t proc;
    char **env = copy_environment();
    if (!env) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    PMIX_LOAD_PROCID(&proc, s->nspace, (pmix_rank_t)rank);
    pmix_status_t rc = PMIx_server_setup_fork(&proc, &env); /* grows the array */
    if (rc == PMIX_SUCCESS)
        return env;
    pkb_error_set(err, "PMIx: environment of rank %d: %s", rank, PMIx_Error_string(rc));
    server_environment_free(env);
    return NULL;
}

void server_environment_free(char **env)
{
    for (size_t i = 0; env && env[i]; i++)
        free(env[i]);
    free(env);
}

void server_destroy(struct server *s)
{
    if (!s)
        return;
    (void)PMIx_server_finalize();
    post_fd = -1;
    (void)close(s->queue[0]);
    (void)close(s->queue[1]);
    free(s);
}
