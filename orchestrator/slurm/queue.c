/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How an element stands after one of its starts. */
struct stand {
    struct slurm_start start; /* at INT64_MAX: it waits or runs */
    size_t job;               /* in the queue's list */
    const char *state;        /* in which that start ended; NULL: it waits or runs */
};

struct reading {
    struct slurm_queue *q;
    struct stand *stands;
    size_t n, room;
    bool out_of_memory;
};

static bool has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ',') && (at[n] == '\0' || at[n] == ','))
            return true;
    return false;
}

static void append(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    if (*word && !has(list, word) && used + strlen(word) + 2 < size)
        (void)snprintf(list + used, size - used, "%s%s", used ? "," : "", word);
}

static void keep(struct reading *r, size_t job, const struct slurm_state *s)
{
    struct stand *list = slurm_starts_grow(r->stands, r->n, &r->room, sizeof(*list));
    r->out_of_memory = r->out_of_memory || !list;
    if (!list)
        return;
    r->stands = list;
    list[r->n] = (struct stand){slurm_start_of(s), job, s->active ? NULL : s->state};
    if (s->active)
        list[r->n].start.at = INT64_MAX;
    r->n++;
}

static void visit(void *arg, size_t i, const struct slurm_jobs_entry *e, const struct slurm_state *s)
{
    struct reading *r = arg;
    struct slurm_queue_job *j = &r->q->list[i];
    size_t n = slurm_starts_elements(s);
    (void)e;
    j->seconds += s->seconds;
    if (n == 1) /* elements that have never begun come together */
        keep(r, i, s);
    if (s->active && s->pending) {
        j->pending += n;
        append(j->reason, sizeof(j->reason), s->reason);
    } else if (s->active) {
        j->running += n;
        append(j->nodes, sizeof(j->nodes), s->nodes);
    }
}

/* ---- ends ------------------------------------------------------------------------------------------------------------ */

static void count_end(struct slurm_queue_job *j, const char *state)
{
    size_t i = 0;
    while (i < j->n_ends && strcmp(j->ends[i].state, state) != 0)
        i++;
    j->ended++;
    if (i == SLURM_QUEUE_ENDS)
        return;
    j->ends[i].state = state;
    j->ends[i].n++;
    j->n_ends += i == j->n_ends;
}

/* The last start of an element says whether and how it has ended. */
static void count_ends(struct reading *r)
{
    if (r->n > 0)
        qsort(r->stands, r->n, sizeof(*r->stands), slurm_start_compare);
    for (size_t i = 0; i < r->n; i++) {
        const struct stand *s = &r->stands[i];
        bool last = i + 1 == r->n || s[1].start.job != s->start.job || s[1].start.element != s->start.element;
        if (last && s->state)
            count_end(&r->q->list[s->job], s->state);
    }
}

size_t slurm_queue_failures(const struct slurm_queue_job *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n_ends; i++)
        n += strcmp(j->ends[i].state, "COMPLETED") != 0 ? j->ends[i].n : 0;
    return n;
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static void sum_up(struct slurm_queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        const struct slurm_queue_job *j = &q->list[i];
        bool evaluates = j->entry.kind == SLURM_JOBS_EVALUATE;
        q->pending += evaluates ? j->pending : 0;
        q->running += evaluates ? j->running : 0;
        q->rank_seconds += evaluates ? j->seconds * j->entry.world : 0;
        q->active += j->pending + j->running > 0;
    }
}

static int read_starts(struct reading *r, const struct slurm_api *api, const json_t *jobs, enum slurm_queue_extent extent,
                       struct pkb_error *err)
{
    struct slurm_past *past = extent == SLURM_QUEUE_PAST ? &r->q->past : NULL;
    for (size_t i = 0; i < r->q->n; i++)
        if (slurm_jobs_entry(jobs, i, &r->q->list[i].entry, err) < 0)
            return -1;
    if (slurm_starts_visit(api, jobs, past, visit, r, err) < 0)
        return -1;
    return r->out_of_memory ? pkb_error_set(err, "out of memory") : 0;
}

int slurm_queue_read(const struct slurm_api *api, const json_t *jobs, struct slurm_queue *q, enum slurm_queue_extent extent,
                     struct pkb_error *err)
{
    size_t n = slurm_jobs_count(jobs);
    *q = (struct slurm_queue){.list = calloc(n + 1, sizeof(*q->list)), .n = n};
    struct reading r = {.q = q};
    int rc = q->list ? read_starts(&r, api, jobs, extent, err) : pkb_error_set(err, "out of memory");
    if (rc == 0) {
        count_ends(&r);
        sum_up(q);
    } else {
        slurm_queue_clear(q);
    }
    free(r.stands);
    return rc;
}

void slurm_queue_clear(struct slurm_queue *q)
{
    free(q->list);
    *q = (struct slurm_queue){0};
}

static void describe_ends(const struct slurm_queue_job *j, char *text, size_t size)
{
    char list[192] = "", word[64];
    for (size_t i = 0; i < j->n_ends; i++) {
        if (strcmp(j->ends[i].state, "COMPLETED") == 0)
            continue;
        (void)snprintf(word, sizeof(word), "%zu %s", j->ends[i].n, j->ends[i].state);
        append(list, sizeof(list), word);
    }
    if (j->ended)
        (void)snprintf(text, size, ", %zu ended%s%s%s", j->ended, list[0] ? " (" : "", list, list[0] ? ")" : "");
}

void slurm_queue_describe(const struct slurm_queue_job *j, char *text, size_t size)
{
    char what[64], running[192] = "", pending[128] = "", ended[256] = "";
    if (j->entry.kind == SLURM_JOBS_EVALUATE)
        (void)snprintf(what, sizeof(what), "%d ranks", j->entry.world);
    else
        (void)snprintf(what, sizeof(what), "%s", slurm_jobs_kind_name(j->entry.kind));
    if (j->running)
        (void)snprintf(running, sizeof(running), ", %zu running on %s", j->running, j->nodes);
    if (j->pending)
        (void)snprintf(pending, sizeof(pending), ", %zu waiting%s%s%s", j->pending, j->reason[0] ? " (" : "", j->reason,
                       j->reason[0] ? ")" : "");
    describe_ends(j, ended, sizeof(ended));
    (void)snprintf(text, size, "job %u: %s%s%s%s%s", j->entry.job, what, running, pending, ended,
                   j->running + j->pending + j->ended ? "" : ", over");
}

static json_t *encode_ends(const struct slurm_queue_job *j)
{
    json_t *v = json_object();
    for (size_t i = 0; v && i < j->n_ends; i++)
        (void)json_object_set_new(v, j->ends[i].state, json_integer((json_int_t)j->ends[i].n));
    return v;
}

json_t *slurm_queue_json(const struct slurm_queue *q)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < q->n; i++) {
        const struct slurm_queue_job *j = &q->list[i];
        (void)json_array_append_new(
            list, json_pack("{s:I, s:s, s:i, s:i, s:s, s:I, s:I, s:I, s:o, s:s, s:s}", "job", (json_int_t)j->entry.job, "kind",
                            slurm_jobs_kind_name(j->entry.kind), "world", j->entry.world, "base", j->entry.base, "array",
                            j->entry.array, "pending", (json_int_t)j->pending, "running", (json_int_t)j->running, "ended",
                            (json_int_t)j->ended, "ends", encode_ends(j), "reason", j->reason, "nodes", j->nodes));
    }
    return list;
}
