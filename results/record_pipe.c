/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record_pipe.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "util/file.h"

#define BATCHES 8
#define LINES 64 /* of a batch */

struct item {
    struct record_line line;
    struct record_scan scan;
};

struct batch {
    struct item items[LINES];
    int n;
    bool last; /* of its file; then these are known */
    int rc;
    int64_t bytes;
    struct pkb_error err;
};

/* Batches go round: the thread fills [filled % BATCHES] while filled - taken < BATCHES; counters and `stop` are under the lock. */
struct record_pipe {
    const char *run;
    const struct record_files *list;
    struct batch *batches;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t filled, taken;
    bool stop, started;
    pthread_t thread;
    struct batch *filling; /* of the thread alone */
};

/* ---- the thread ------------------------------------------------------------------------------------------------------------ */

/* The next batch to fill; NULL: stop. */
static struct batch *next_free(struct record_pipe *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (!p->stop && p->filled - p->taken == BATCHES)
        (void)pthread_cond_wait(&p->changed, &p->lock);
    struct batch *b = p->stop ? NULL : &p->batches[p->filled % BATCHES];
    (void)pthread_mutex_unlock(&p->lock);
    if (b) {
        b->n = 0;
        b->last = false;
    }
    return b;
}

static void hand_over(struct record_pipe *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->filled++;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    p->filling = NULL;
}

static int put_line(void *arg, const struct record_line *line)
{
    struct record_pipe *p = arg;
    if (!p->filling)
        p->filling = next_free(p);
    if (!p->filling)
        return 1;
    struct item *item = &p->filling->items[p->filling->n++];
    record_scan_line(line, &item->scan);
    item->line = *line;
    item->line.text = NULL;
    item->scan.line = &item->line;
    if (p->filling->n == LINES)
        hand_over(p);
    return 0;
}

/* False: stop. */
static bool put_file(struct record_pipe *p, const struct record_file *file)
{
    struct pkb_error err = {{0}};
    int64_t bytes = 0;
    char *path = pkb_format(&err, "%s/records/%s", p->run, file->name);
    int rc = path ? record_lines_read(path, NULL, put_line, p, &bytes, &err) : -1;
    free(path);
    if (!p->filling)
        p->filling = next_free(p);
    if (!p->filling)
        return false;
    p->filling->last = true;
    p->filling->rc = rc;
    p->filling->bytes = bytes;
    p->filling->err = err;
    hand_over(p);
    return true;
}

static void *work(void *arg)
{
    struct record_pipe *p = arg;
    for (size_t i = 0; i < p->list->n; i++)
        if (p->list->files[i].attempt > 0 && !put_file(p, &p->list->files[i]))
            break;
    return NULL;
}

/* ---- the caller ---------------------------------------------------------------------------------------------------------------- */

struct record_pipe *record_pipe_create(const char *run, const struct record_files *list, struct pkb_error *err)
{
    struct record_pipe *p = calloc(1, sizeof(*p));
    if (p) {
        p->run = run;
        p->list = list;
        (void)pthread_mutex_init(&p->lock, NULL);
        (void)pthread_cond_init(&p->changed, NULL);
        p->batches = calloc(BATCHES, sizeof(*p->batches));
    }
    if (p && p->batches)
        p->started = pthread_create(&p->thread, NULL, work, p) == 0;
    if (p && p->started)
        return p;
    pkb_error_set(err, "a thread that reads records cannot be started");
    record_pipe_destroy(p);
    return NULL;
}

void record_pipe_destroy(struct record_pipe *p)
{
    if (!p)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    if (p->started)
        (void)pthread_join(p->thread, NULL);
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    free(p->batches);
    free(p);
}

static struct batch *next_filled(struct record_pipe *p)
{
    (void)pthread_mutex_lock(&p->lock);
    while (p->filled == p->taken)
        (void)pthread_cond_wait(&p->changed, &p->lock);
    struct batch *b = &p->batches[p->taken % BATCHES];
    (void)pthread_mutex_unlock(&p->lock);
    return b;
}

static void give_back(struct record_pipe *p)
{
    (void)pthread_mutex_lock(&p->lock);
    p->taken++;
    (void)pthread_cond_signal(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
}

int record_pipe_scan(struct record_pipe *p, record_scan_fn *visit, void *arg, int64_t *size, struct pkb_error *err)
{
    for (;;) {
        struct batch *b = next_filled(p);
        int rc = 0;
        for (int i = 0; i < b->n && rc == 0; i++)
            rc = visit(arg, &b->items[i].scan);
        if (rc != 0)
            return rc; /* the caller gives up */
        bool last = b->last;
        if (last) {
            rc = b->rc;
            *size = b->bytes;
            if (rc < 0 && err)
                *err = b->err;
        }
        give_back(p);
        if (last)
            return rc;
    }
}
