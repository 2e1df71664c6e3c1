/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/explain_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/slurm/arrays.h"
#include "orchestrator/slurm/launch.h"
#include "orchestrator/slurm/starts.h"

struct reading {
    struct explain *e;
    bool *shards; /* scratch: of one record */
    bool out_of_memory;
};

static bool is_judged(const struct explain_cell *c)
{
    const struct explain_record *r = explain_verdict(c);
    return r && outcome_is_final(r->record.outcome);
}

static bool any_open(const struct explain *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (!is_judged(&e->cells[i]))
            return true;
    return false;
}

static bool add_task(struct explain_cell *c, int index, const struct slurm_state *s)
{
    struct explain_task *more = reallocarray(c->tasks, c->n_tasks + 1, sizeof(*more));
    if (!more)
        return false;
    c->tasks = more;
    struct explain_task *t = &more[c->n_tasks++];
    *t = (struct explain_task){
        .state = s->state, .reason = strdup(s->reason), .nodes = strdup(s->nodes), .start = s->start, .seconds = s->seconds};
    (void)snprintf(t->name, sizeof(t->name), *s->elements ? "%u_%d" : "%u", s->job, index);
    return t->reason && t->nodes;
}

static void visit(void *arg, size_t i, const struct slurm_jobs_entry *e, const struct slurm_state *s)
{
    struct reading *r = arg;
    size_t n = r->e->plan->n_shards;
    (void)i;
    if (e->kind != SLURM_JOBS_EVALUATE)
        return;
    memset(r->shards, 0, n * sizeof(*r->shards));
    (void)slurm_arrays_mark(*s->elements ? s->elements : "0", e->base, r->shards, n);
    for (size_t k = 0; k < r->e->n; k++) {
        struct explain_cell *c = &r->e->cells[k];
        if (c->shard && (size_t)c->shard->id < n && r->shards[c->shard->id] && !is_judged(c))
            r->out_of_memory = !add_task(c, c->shard->id - e->base, s) || r->out_of_memory;
    }
}

/* What has not begun comes last. */
static int by_start(const void *a, const void *b)
{
    const struct explain_task *x = a, *y = b;
    if ((x->start == 0) != (y->start == 0))
        return x->start == 0 ? 1 : -1;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int read_tasks(struct reading *r, const json_t *jobs, struct pkb_error *err)
{
    struct slurm_past past;
    const struct slurm_api *api = slurm_api_load(err);
    if (!api || slurm_starts_visit(api, jobs, &past, visit, r, err) < 0)
        return -1;
    (void)snprintf(r->e->slurm_trouble, sizeof(r->e->slurm_trouble), "%s", past.trouble);
    for (size_t k = 0; k < r->e->n; k++)
        if (r->e->cells[k].n_tasks > 1)
            qsort(r->e->cells[k].tasks, r->e->cells[k].n_tasks, sizeof(*r->e->cells[k].tasks), by_start);
    return 0;
}

int explain_tasks_read(struct explain *e, struct pkb_error *err)
{
    if (!slurm_launch_is_run(e->run->path) || !any_open(e))
        return 0;
    struct pkb_error silence = {""};
    struct reading r = {.e = e, .shards = calloc(e->plan->n_shards + 1, sizeof(bool))};
    json_t *jobs = slurm_jobs_read(e->run->path, &silence);
    if (r.shards && jobs && slurm_jobs_count(jobs) > 0)
        (void)read_tasks(&r, jobs, &silence);
    if (silence.text[0])
        (void)snprintf(e->slurm_trouble, sizeof(e->slurm_trouble), "%.250s", silence.text);
    int rc = r.shards && !r.out_of_memory ? 0 : pkb_error_set(err, "out of memory");
    json_decref(jobs);
    free(r.shards);
    return rc;
}

const char *explain_tasks_meaning(const char *state)
{
    static const struct {
        const char *state, *meaning;
    } ends[] = {
        {"TIMEOUT", "its time limit was reached; --slurm time=... gives more"},
        {"DEADLINE", "it could not end before its deadline"},
        {"NODE_FAIL", "the node failed; Slurm starts the task again where the settings say requeue"},
        {"BOOT_FAIL", "the node did not boot"},
        {"OUT_OF_MEMORY", "it needed more memory than it was given; --slurm memory_mb=... gives more"},
        {"PREEMPTED", "another job needed the node"},
        {"REQUEUED", "Slurm put it back into the queue: the node failed, or another job needed it"},
        {"CANCELLED", "somebody cancelled it"},
        {"FAILED", "it left cells without a result; its log says why"},
    };
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        if (strcmp(ends[i].state, state) == 0)
            return ends[i].meaning;
    return "";
}
