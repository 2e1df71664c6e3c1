/* SPDX-License-Identifier: Apache-2.0 */
/* What slurmdbd knows of jobs that are over. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "orchestrator/slurm/plugin.h"

/* An earlier start of an element that was requeued ended for this reason, which is a flag and no state. */
static const char *end_name(const slurmdb_job_rec_t *job)
{
    return job->state & JOB_REQUEUE ? "REQUEUED" : plugin_state_name(job->state);
}

static void visit_record(const slurmdb_job_rec_t *job, slurm_visit_fn *visit, void *arg)
{
    char index[16] = "";
    if (job->start == 0 || job->end == 0)
        return;
    if (job->array_job_id && job->array_task_id != NO_VAL)
        (void)snprintf(index, sizeof(index), "%u", job->array_task_id);
    const struct slurm_state s = {
        .job = job->array_job_id ? job->array_job_id : job->jobid,
        .elements = index,
        .state = end_name(job),
        .reason = "",
        .nodes = job->nodes ? job->nodes : "",
        .restarts = -1,
        .start = job->start,
        .seconds = job->end > job->start ? difftime(job->end, job->start) : 0,
    };
    visit(arg, &s);
}

/* ---- the question ---------------------------------------------------------------------------------------------------- */

/* libslurm waits for a slurmdbd that hangs for minutes, so that it is asked by a thread, which is left behind then. */
#define PATIENCE_SECONDS 10

struct question {
    char *cluster;
    slurm_selected_step_t *jobs;
    size_t n;
    time_t since;
    libslurm_list records; /* the answer; NULL: none */
    int error;             /* errno, without an answer */
};

static void destroy(struct question *q)
{
    if (q && q->records)
        slurm_list_destroy(q->records);
    if (q) {
        free(q->cluster);
        free(q->jobs);
    }
    free(q);
}

static struct question *create(const char *cluster, const uint32_t *jobs, size_t n, int64_t since)
{
    struct question *q = calloc(1, sizeof(*q));
    if (!q)
        return NULL;
    *q = (struct question){.cluster = strdup(cluster), .jobs = calloc(n + 1, sizeof(*q->jobs)), .n = n, .since = (time_t)since};
    if (!q->cluster || !q->jobs)
        return destroy(q), NULL;
    for (size_t i = 0; i < n; i++) {
        q->jobs[i].array_task_id = NO_VAL;
        q->jobs[i].het_job_offset = NO_VAL;
        q->jobs[i].step_id.job_id = jobs[i];
        q->jobs[i].step_id.step_id = NO_VAL;
        q->jobs[i].step_id.step_het_comp = NO_VAL;
    }
    return q;
}

static void ask_for(struct question *q, libslurm_list clusters, libslurm_list steps)
{
    uint16_t flags = 0;
    slurmdb_job_cond_t cond = {
        .flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC,
        .db_flags = SLURMDB_JOB_FLAG_NOTSET,
        .cluster_list = clusters,
        .step_list = steps,
        .usage_start = q->since,
        .usage_end = time(NULL) + 1,
    };
    errno = 0;
    void *db = slurmdb_connection_get(&flags);
    q->records = db ? slurmdb_jobs_get(db, &cond) : NULL;
    q->error = errno;
    if (db)
        (void)slurmdb_connection_close(&db);
}

/* The lists borrow what is in them. */
static void *ask(void *arg)
{
    struct question *q = arg;
    libslurm_list clusters = slurm_list_create(NULL), steps = slurm_list_create(NULL);
    (void)slurm_list_append(clusters, q->cluster);
    for (size_t i = 0; i < q->n; i++)
        (void)slurm_list_append(steps, &q->jobs[i]);
    ask_for(q, clusters, steps);
    slurm_list_destroy(clusters);
    slurm_list_destroy(steps);
    return NULL;
}

/* 0; -1: no answer, and q is the thread's: it must not be touched any more. */
static int ask_patiently(struct question *q)
{
    pthread_t thread;
    struct timespec end;
    if (pthread_create(&thread, NULL, ask, q) != 0) {
        q->error = EAGAIN;
        return 0;
    }
    (void)clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_SECONDS;
    return pthread_timedjoin_np(thread, NULL, &end) == 0 ? 0 : (pthread_detach(thread), -1);
}

static void visit_records(libslurm_list records, slurm_visit_fn *visit, void *arg)
{
    libslurm_each each = slurm_list_iterator_create(records);
    for (const slurmdb_job_rec_t *job = slurm_list_next(each); job; job = slurm_list_next(each))
        visit_record(job, visit, arg);
    slurm_list_iterator_destroy(each);
}

static int question(struct question *q, slurm_visit_fn *visit, void *arg, struct pkb_error *err)
{
    static bool hangs; /* then it is not asked again by this process */
    if (!q)
        return pkb_error_set(err, "out of memory");
    if (hangs)
        destroy(q);
    else
        hangs = ask_patiently(q) < 0;
    if (hangs)
        return pkb_error_set(err, "Slurm: the accounting database (slurmdbd) has not answered for %d s", PATIENCE_SECONDS);
    int rc = 0;
    if (q->records) {
        visit_records(q->records, visit, arg);
    } else {
        errno = q->error;
        rc = plugin_failed(err, "the accounting database (slurmdbd) does not answer");
    }
    destroy(q);
    return rc;
}

int plugin_past(const uint32_t *jobs, size_t n, int64_t since, slurm_visit_fn *visit, void *arg, struct pkb_error *err)
{
    slurm_conf_t *conf = plugin_conf(err);
    if (!conf)
        return -1;
    bool there = conf->accounting_storage_type && strstr(conf->accounting_storage_type, "slurmdbd");
    int rc = there ? question(create(conf->cluster_name, jobs, n, since), visit, arg, err) : 1;
    libslurm_free_conf(conf);
    return rc;
}
