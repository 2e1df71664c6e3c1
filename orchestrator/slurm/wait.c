/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdio.h>

#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/launch.h"
#include "orchestrator/slurm/queue.h"
#include "util/clock.h"

#define POLL_MS 1000
#define MOST_POLL_MS 30000
#define POLL_SHARE 20   /* of the time goes into looking, one part at most: it is slurmctld's time too */
#define MAX_FAILURES 60 /* polls in a row that slurmctld does not answer */

/* Reads the records again. */
static int refresh(struct engine *e, struct pkb_error *err)
{
    struct progress *p = progress_create(e->plan, err);
    if (!p || progress_read(p, e->run->path, err) < 0) {
        progress_destroy(p);
        return -1;
    }
    progress_destroy(e->progress);
    e->progress = p;
    return 0;
}

static void show(struct engine *e, const struct slurm_queue *q)
{
    char detail[640], outcomes[512];
    progress_describe(e->progress, outcomes, sizeof(outcomes));
    (void)snprintf(detail, sizeof(detail), "%zu tasks run, %zu wait%s%s", q->running, q->pending, outcomes[0] ? "; " : "",
                   outcomes);
    display_progress(&e->display, e->progress->final, e->plan->n_cells, "cells", detail);
}

/* A job at the end of a wave submits further ones: whether there are any. -1 on failure. */
static int find_more_jobs(struct engine *e, struct pkb_error *err)
{
    size_t known = slurm_jobs_count(e->slurm->jobs);
    json_t *jobs = slurm_jobs_read(e->run->path, err);
    if (!jobs)
        return -1;
    json_decref(e->slurm->jobs);
    e->slurm->jobs = jobs;
    return slurm_jobs_count(jobs) > known;
}

/* 1: all is over, 0: not yet, -1: Slurm cannot say. */
static int look(struct engine *e, struct pkb_error *err)
{
    struct slurm_queue q;
    if (slurm_queue_read(e->slurm->api, e->slurm->jobs, &q, SLURM_QUEUE_PRESENT, err) < 0)
        return -1;
    /* In this order: what submitted more has ended by now. */
    int more = find_more_jobs(e, err);
    bool over = q.active == 0 && more == 0;
    int rc = more < 0 ? -1 : refresh(e, err);
    if (rc == 0)
        show(e, &q);
    slurm_queue_clear(&q);
    return rc < 0 ? -1 : over;
}

/* Until the next look, after one that took so long. */
static int pause_ms(int64_t look_ns)
{
    int64_t ms = POLL_SHARE * look_ns / 1000000;
    return ms < POLL_MS ? POLL_MS : ms > MOST_POLL_MS ? MOST_POLL_MS : (int)ms;
}

int engine_slurm_wait(struct engine *e, struct pkb_error *err)
{
    int failures = 0;
    if (!e->o->wait)
        return 0;
    rundir_unlock(e->run); /* for jobs that submit the next wave */
    display_start(&e->display, e->progress->final);
    while (!stop_asked(&e->stop)) {
        struct pollfd p = {.fd = e->stop.fd, .events = POLLIN};
        int64_t began = pkb_now_ns();
        int rc = look(e, err);
        int ms = rc < 0 ? POLL_MS : pause_ms(pkb_now_ns() - began);
        failures = rc < 0 ? failures + 1 : 0;
        if (failures >= MAX_FAILURES)
            return pkb_error_prefix(err, "the jobs go on, but they cannot be watched");
        if (rc == 1)
            break;
        (void)poll(&p, 1, ms);
    }
    display_end(&e->display);
    e->submitted = false; /* from here on the result counts */
    return 0;
}

int engine_slurm_merge(struct engine *e, struct pkb_error *err)
{
    return e->o->wait ? engine_merge(e, err) : 0;
}
