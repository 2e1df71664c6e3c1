/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/builds.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "node_agent/build.h"
#include "orchestrator/exit.h"

#define MAX_JOBS 64

static const char *const kinds[] = {"c", "cu", "py"};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct toolchain {
    bool looked_for;
    struct build_toolchain *found; /* NULL: none */
    struct pkb_error why;
};

/* What the threads share; the lock guards all that changes. */
struct pool {
    pthread_mutex_t lock;
    const struct rundir *run;
    const struct plan *plan;
    const struct toolchain *toolchains;
    const size_t *work; /* candidates to be built */
    size_t n_work, next, done;
    int running; /* threads */
    bool cancelled;
    struct builds *result;
    int event; /* written after every candidate */
};

void builds_destroy(struct builds *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->failed && i < b->n; i++)
        free(b->failed[i]);
    free(b->failed);
    free(b);
}

/* ---- what is needed --------------------------------------------------------------------------------------------------- */

static void mark_needed(const struct progress *p, bool *needed)
{
    const struct plan *plan = p->plan;
    for (size_t i = 0; i < plan->n_cells; i++)
        if (p->outcome[i] >= OUTCOME_COUNT || !outcome_is_final((enum outcome)p->outcome[i]))
            needed[plan->cells[i].candidate] = true;
}

static bool same_source(const struct plan_candidate *a, const struct plan_candidate *b)
{
    return strcmp(a->kind, b->kind) == 0;
}

/* The first candidate with the same source: two samples may have the same text. */
static size_t first_like(const struct plan *plan, const struct digest_index *x, size_t i)
{
    uint32_t j = digest_index_find(x, plan->candidates[i].digest);
    while (j != DIGEST_INDEX_NONE && j < i && !same_source(&plan->candidates[i], &plan->candidates[j]))
        j = digest_index_next(x, j);
    return j == DIGEST_INDEX_NONE ? i : j;
}

static struct digest_index *index_candidates(const struct plan *plan, struct pkb_error *err)
{
    struct digest_index *x = digest_index_create(plan->n_candidates, err);
    for (size_t i = 0; x && i < plan->n_candidates; i++) {
        if (digest_index_add(x, plan->candidates[i].digest, err) < 0) {
            digest_index_destroy(x);
            return NULL;
        }
    }
    return x;
}

/* Lists one candidate of each source that is needed; `like` says for every needed candidate which one that is. */
static int list_work(const struct progress *p, size_t *work, size_t *like, size_t *n_work, struct pkb_error *err)
{
    const struct plan *plan = p->plan;
    bool *needed = calloc(plan->n_candidates + 1, sizeof(*needed));
    bool *listed = calloc(plan->n_candidates + 1, sizeof(*listed));
    struct digest_index *x = needed && listed ? index_candidates(plan, err) : NULL;
    *n_work = 0;
    if (!needed || !listed)
        pkb_error_set(err, "out of memory");
    if (x)
        mark_needed(p, needed);
    for (size_t i = 0; x && i < plan->n_candidates; i++) {
        like[i] = SIZE_MAX;
        if (!needed[i])
            continue;
        like[i] = first_like(plan, x, i);
        if (!listed[like[i]])
            work[(*n_work)++] = like[i];
        listed[like[i]] = true;
    }
    int rc = x ? 0 : -1;
    digest_index_destroy(x);
    free(needed);
    free(listed);
    return rc;
}

/* Keeps a builder's share of the list. */
static size_t take_part(size_t *work, size_t n, const struct builds_options *o)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (o->parts == 0 || i % o->parts == o->part)
            work[kept++] = work[i];
    return kept;
}

/* ---- toolchains ------------------------------------------------------------------------------------------------------- */

static size_t kind_number(const char *kind)
{
    for (size_t k = 0; k < N_KINDS; k++)
        if (strcmp(kinds[k], kind) == 0)
            return k;
    return N_KINDS;
}

static void find_toolchains(const struct plan *plan, const size_t *work, size_t n, struct toolchain *t)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = kind_number(plan->candidates[work[i]].kind);
        if (k == N_KINDS || t[k].looked_for)
            continue;
        t[k].looked_for = true;
        t[k].found = build_toolchain_find(kinds[k], &t[k].why);
    }
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

static int build_one(const struct pool *pool, size_t i, struct build_result *r, struct pkb_error *err)
{
    const struct plan_candidate *c = &pool->plan->candidates[i];
    size_t k = kind_number(c->kind);
    if (k == N_KINDS)
        return pkb_error_set(err, "candidates of kind '%s' cannot be built", c->kind);
    if (!pool->toolchains[k].found) {
        *err = pool->toolchains[k].why;
        return -1;
    }
    char *source = rundir_candidate(pool->run, c, err);
    int rc = source ? build_candidate(pool->run->build_cache, pool->toolchains[k].found, source, c->digest, r, err) : -1;
    free(source);
    return rc;
}

static void count(struct pool *pool, size_t i, int rc, const struct build_result *r, const struct pkb_error *err)
{
    struct builds *b = pool->result;
    if (rc < 0) {
        b->failed[i] = strdup(err->text);
        b->unavailable++;
    } else {
        b->cached += r->cached;
        b->made += !r->cached;
        b->errors += r->status == BUILD_COMPILE_ERROR;
    }
    pool->done++;
}

static void *work_through(void *arg)
{
    struct pool *pool = arg;
    for (;;) {
        struct build_result r;
        struct pkb_error err = {""};
        (void)pthread_mutex_lock(&pool->lock);
        bool more = !pool->cancelled && pool->next < pool->n_work;
        size_t i = more ? pool->work[pool->next++] : 0;
        pool->running -= !more;
        (void)pthread_mutex_unlock(&pool->lock);
        if (!more)
            break;
        int rc = build_one(pool, i, &r, &err);
        (void)pthread_mutex_lock(&pool->lock);
        count(pool, i, rc, &r, &err);
        (void)pthread_mutex_unlock(&pool->lock);
        (void)eventfd_write(pool->event, 1);
    }
    (void)eventfd_write(pool->event, 1);
    return NULL;
}

/* True while threads are running. */
static bool look(struct pool *pool, bool cancel, size_t *done, char *detail, size_t size)
{
    (void)pthread_mutex_lock(&pool->lock);
    bool running = pool->running > 0;
    *done = pool->done;
    pool->cancelled = pool->cancelled || cancel;
    detail[0] = '\0';
    if (pool->result->errors)
        (void)snprintf(detail, size, "%zu do not compile", pool->result->errors);
    (void)pthread_mutex_unlock(&pool->lock);
    return running;
}

/* Until the threads have nothing more to do. */
static void attend(struct pool *pool, struct stop *stop, struct display *d)
{
    struct pollfd fds[2] = {{.fd = pool->event, .events = POLLIN}, {.fd = stop->fd, .events = POLLIN}};
    char detail[64];
    size_t done = 0;
    bool running = true;
    while (running) {
        eventfd_t ignored;
        if (poll(fds, 2, 1000) > 0 && (fds[0].revents & POLLIN))
            (void)eventfd_read(pool->event, &ignored);
        bool asked = stop_asked(stop);
        if (stop->count > 1)
            _exit(PKB_EXIT_INTERRUPTED); /* the compilers die with their threads */
        running = look(pool, asked, &done, detail, sizeof(detail));
        display_progress(d, done, pool->n_work, "candidates built", detail);
    }
}

static int run_pool(struct pool *pool, int jobs, struct stop *stop, struct display *d, struct pkb_error *err)
{
    pthread_t threads[MAX_JOBS];
    int n = 0, rc = 0;
    size_t limit = jobs < MAX_JOBS ? (size_t)jobs : MAX_JOBS;
    if (limit > pool->n_work)
        limit = pool->n_work;
    pool->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->event < 0)
        return pkb_error_errno(err, "eventfd");
    while (rc == 0 && (size_t)n < limit) {
        (void)pthread_mutex_lock(&pool->lock);
        rc = pthread_create(&threads[n], NULL, work_through, pool);
        pool->running += rc == 0;
        (void)pthread_mutex_unlock(&pool->lock);
        n += rc == 0;
    }
    if (n > 0)
        attend(pool, stop, d);
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    (void)close(pool->event);
    errno = rc;
    return n == 0 && pool->n_work > 0 ? pkb_error_errno(err, "cannot start a thread") : 0;
}

static void copy_failures(struct builds *b, const size_t *like)
{
    for (size_t i = 0; i < b->n; i++)
        if (like[i] != SIZE_MAX && like[i] != i && b->failed[like[i]] && !b->failed[i])
            b->failed[i] = strdup(b->failed[like[i]]);
}

static struct builds *build_all(struct pool *pool, size_t *work, size_t *like, const struct progress *p,
                                const struct builds_options *o, struct stop *stop, struct display *d, struct pkb_error *err)
{
    struct toolchain toolchains[N_KINDS] = {0};
    struct builds *b = pool->result;
    int rc = list_work(p, work, like, &pool->n_work, err);
    if (rc == 0) {
        pool->n_work = take_part(work, pool->n_work, o);
        find_toolchains(pool->plan, work, pool->n_work, toolchains);
        pool->work = work;
        pool->toolchains = toolchains;
        display_start(d, 0);
        rc = run_pool(pool, o->jobs, stop, d, err);
    }
    if (rc == 0)
        copy_failures(b, like);
    for (size_t k = 0; k < N_KINDS; k++)
        build_toolchain_destroy(toolchains[k].found);
    if (rc == 0)
        return b;
    builds_destroy(b);
    return NULL;
}

struct builds *builds_make(const struct rundir *run, const struct progress *progress, const struct builds_options *o,
                           struct stop *stop, struct display *display, struct pkb_error *err)
{
    size_t n = progress->plan->n_candidates;
    struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .run = run, .plan = progress->plan, .event = -1};
    size_t *work = calloc(n + 1, sizeof(*work));
    size_t *like = calloc(n + 1, sizeof(*like));
    struct builds *b = calloc(1, sizeof(*b));
    if (b) {
        b->n = n;
        b->failed = calloc(n + 1, sizeof(*b->failed));
    }
    if (work && like && b && b->failed) {
        pool.result = b;
        b = build_all(&pool, work, like, progress, o, stop, display, err);
    } else {
        pkb_error_set(err, "out of memory");
        builds_destroy(b);
        b = NULL;
    }
    free(work);
    free(like);
    return b;
}
