/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/slurm/arrays.h"

struct visit {
    struct slurm_queue_job *job;
    bool *busy;
    size_t n_shards;
};

static void append(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    if (*word && !strstr(list, word) && used + strlen(word) + 2 < size)
        (void)snprintf(list + used, size - used, "%s%s", used ? "," : "", word);
}

static void visit(void *arg, const struct slurm_state *s)
{
    struct visit *v = arg;
    size_t n = *s->elements ? slurm_arrays_count(s->elements) : 1;
    if (s->active && v->busy && v->job->entry.kind == SLURM_JOBS_EVALUATE)
        (void)slurm_arrays_mark(s->elements, v->job->entry.base, v->busy, v->n_shards);
    v->job->seconds += s->seconds;
    if (!s->active) {
        v->job->ended += n;
    } else if (s->pending) {
        v->job->pending += n;
        append(v->job->reason, sizeof(v->job->reason), s->reason);
    } else {
        v->job->running += n;
        append(v->job->nodes, sizeof(v->job->nodes), s->nodes);
    }
}

static int read_job(const struct slurm_api *api, struct slurm_queue *q, struct slurm_queue_job *j, bool *busy, size_t n_shards,
                    struct pkb_error *err)
{
    struct visit v = {j, busy, n_shards};
    if (api->states(j->entry.job, visit, &v, err) < 0)
        return -1;
    bool evaluates = j->entry.kind == SLURM_JOBS_EVALUATE;
    q->pending += evaluates ? j->pending : 0;
    q->running += evaluates ? j->running : 0;
    q->rank_seconds += evaluates ? j->seconds * j->entry.world : 0;
    q->active += j->pending + j->running > 0;
    return 0;
}

int slurm_queue_read(const struct slurm_api *api, const json_t *jobs, struct slurm_queue *q, bool *busy, size_t n_shards,
                     struct pkb_error *err)
{
    size_t n = slurm_jobs_count(jobs);
    *q = (struct slurm_queue){.list = calloc(n + 1, sizeof(*q->list)), .n = n};
    int rc = q->list ? 0 : pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = slurm_jobs_entry(jobs, i, &q->list[i].entry, err);
        if (rc == 0)
            rc = read_job(api, q, &q->list[i], busy, n_shards, err);
    }
    if (rc < 0)
        slurm_queue_clear(q);
    return rc;
}

void slurm_queue_clear(struct slurm_queue *q)
{
    free(q->list);
    *q = (struct slurm_queue){0};
}

void slurm_queue_describe(const struct slurm_queue_job *j, char *text, size_t size)
{
    char what[64], running[192] = "", pending[128] = "", ended[48] = "";
    if (j->entry.kind == SLURM_JOBS_EVALUATE)
        (void)snprintf(what, sizeof(what), "%d ranks", j->entry.world);
    else
        (void)snprintf(what, sizeof(what), "%s", slurm_jobs_kind_name(j->entry.kind));
    if (j->running)
        (void)snprintf(running, sizeof(running), ", %zu running on %s", j->running, j->nodes);
    if (j->pending)
        (void)snprintf(pending, sizeof(pending), ", %zu waiting%s%s%s", j->pending, j->reason[0] ? " (" : "", j->reason,
                       j->reason[0] ? ")" : "");
    if (j->ended)
        (void)snprintf(ended, sizeof(ended), ", %zu ended", j->ended);
    (void)snprintf(text, size, "job %u: %s%s%s%s%s", j->entry.job, what, running, pending, ended,
                   j->running + j->pending + j->ended ? "" : ", over");
}

json_t *slurm_queue_json(const struct slurm_queue *q)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < q->n; i++) {
        const struct slurm_queue_job *j = &q->list[i];
        (void)json_array_append_new(list, json_pack("{s:I, s:s, s:i, s:i, s:s, s:I, s:I, s:I, s:s, s:s}", "job",
                                                    (json_int_t)j->entry.job, "kind", slurm_jobs_kind_name(j->entry.kind),
                                                    "world", j->entry.world, "base", j->entry.base, "array", j->entry.array,
                                                    "pending", (json_int_t)j->pending, "running", (json_int_t)j->running, "ended",
                                                    (json_int_t)j->ended, "reason", j->reason, "nodes", j->nodes));
    }
    return list;
}
