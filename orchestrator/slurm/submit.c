/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/nodes.h"
#include "orchestrator/slurm/arrays.h"
#include "orchestrator/slurm/starts.h"
#include "orchestrator/slurm/submission.h"
#include "util/file.h"
#include "util/paths.h"

#define SLACK_MINUTES 15 /* of a task, beside its work: builds, start and end of worlds */
#define SLACK_FACTOR 3   /* estimates of work are rough */

/* ---- evaluation ------------------------------------------------------------------------------------------------------- */

static bool needs_gpus(const struct plan *p, int world)
{
    for (size_t i = 0; i < p->n_settings; i++)
        if (p->settings[i].world == world && strcmp(p->settings[i].device, "cuda") == 0)
            return true;
    return false;
}

static void fill_evaluation(const struct submission *s, int world, double seconds, struct slurm_job *job)
{
    const struct slurm_settings *set = &s->l->settings;
    submission_fill(s, job);
    job->partition = set->partition;
    job->constraint = set->constraint;
    job->nodes = (world + set->ranks_per_node - 1) / set->ranks_per_node;
    job->ranks_per_node = (world + job->nodes - 1) / job->nodes;
    job->ranks = world;
    job->cpus_per_rank = set->cpus_per_rank;
    job->memory_mb = set->memory_mb;
    job->minutes = set->minutes > 0 ? set->minutes : SLACK_MINUTES + (int)(SLACK_FACTOR * seconds / 60);
    job->signal_seconds = set->signal_seconds < job->minutes * 30 ? set->signal_seconds : job->minutes * 30;
    job->exclusive = set->exclusive;
    job->gpu = set->gpu && strcmp(set->gpu, "none") == 0 ? NULL
               : set->gpu                                ? set->gpu
               : needs_gpus(s->e->plan, world)           ? "gpu"
                                                         : NULL;
}

static int task_command(const struct submission *s, int base, struct words *command, struct pkb_error *err)
{
    const struct slurm_settings *set = &s->l->settings;
    char *program = pkb_path(PKB_PATH_LIBEXEC, "pkb-slurm-task", err);
    int rc = program ? words_add(command, err, "%s", program) : -1;
    free(program);
    if (rc < 0 || words_add(command, err, "--run=%s", s->e->run->path) < 0 || words_add(command, err, "--base=%d", base) < 0 ||
        words_add(command, err, "--srun=--mpi=%s", set->mpi) < 0)
        return -1;
    for (size_t i = 0; i < set->srun_options.n; i++)
        if (words_add(command, err, "--srun=%s", set->srun_options.list[i]) < 0)
            return -1;
    return 0;
}

static int add_dependency(struct submission *s, uint32_t job, struct pkb_error *err)
{
    char *text = s->after ? pkb_format(err, "%s:%u", s->after, job) : pkb_format(err, "afterany:%u", job);
    free(s->after);
    s->after = text;
    return text ? 0 : -1;
}

static int submit_array(struct submission *s, int world, double seconds, const struct slurm_array *a, size_t n_arrays,
                        struct pkb_error *err)
{
    struct slurm_job job = {0};
    struct slurm_jobs_entry entry = {.kind = SLURM_JOBS_EVALUATE, .world = world, .base = a->base};
    struct words command = WORDS_NONE;
    int throttle = s->l->settings.throttle / (int)n_arrays;
    int rc = -1;
    char *name = pkb_format(err, "pkb-%s-w%d", s->e->run->name, world);
    char *title =
        pkb_format(err, "pkb: evaluates shards of %d ranks (shard = %d + index) of the run %s", world, a->base, s->e->run->path);
    char *array = s->l->settings.throttle == 0 ? pkb_format(err, "%s", a->indexes)
                                               : pkb_format(err, "%s%%%d", a->indexes, throttle > 0 ? throttle : 1);
    fill_evaluation(s, world, seconds, &job);
    job.name = name;
    job.array = array;
    job.dependency = s->after_build;
    entry.array = a->indexes;
    if (name && title && array && task_command(s, a->base, &command, err) == 0)
        rc = submission_send(s, &job, title, &command, &entry, err);
    if (rc == 0)
        rc = add_dependency(s, entry.job, err);
    if (rc == 0)
        display_say(&s->e->display, "job %u: %zu shards of %d ranks, %d node%s each%s%s", entry.job, a->n, world, job.nodes,
                    job.nodes == 1 ? "" : "s", s->l->settings.throttle ? ", throttled: " : "",
                    s->l->settings.throttle ? array : "");
    s->arrays += rc == 0;
    s->shards += rc == 0 ? a->n : 0;
    words_clear(&command);
    free(array);
    free(title);
    free(name);
    return rc;
}

/* All of one world size that is to be done. */
static int submit_world(struct submission *s, int world, const int *shards, size_t n, double seconds, struct pkb_error *err)
{
    struct slurm_arrays arrays;
    if (slurm_arrays_make(shards, n, s->l->limits.max_array, &arrays, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < arrays.n && rc == 0; i++)
        rc = submit_array(s, world, seconds, &arrays.list[i], arrays.n, err);
    slurm_arrays_clear(&arrays);
    return rc;
}

/* Attempts make a folder each. */
static bool was_tried(const struct submission *s, int shard)
{
    char *first = pkb_format(NULL, "%s/logs/shard-%06d.001", s->e->run->path, shard);
    bool there = first && pkb_file_exists(first);
    free(first);
    return there;
}

static int submit_worlds(struct submission *s, struct pkb_error *err)
{
    const struct plan *p = s->e->plan;
    int *shards = calloc(p->n_shards + 1, sizeof(*shards));
    int rc = shards ? 0 : pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < p->n_shards && rc == 0;) {
        int world = p->shards[i].world;
        double seconds = 0;
        size_t n = 0;
        for (; i < p->n_shards && p->shards[i].world == world; i++) {
            uint64_t open = s->busy[i] ? 0 : engine_open_cells(s->e, &p->shards[i]);
            if (open == 0 || (s->e->o->untried && was_tried(s, p->shards[i].id)))
                continue;
            if (s->room == 0) {
                s->left++;
                continue;
            }
            s->room--;
            s->cells += open;
            seconds = p->shards[i].seconds > seconds ? p->shards[i].seconds : seconds;
            shards[n++] = p->shards[i].id;
        }
        rc = n > 0 ? submit_world(s, world, shards, n, seconds, err) : 0;
    }
    free(shards);
    return rc;
}

/* ---- the stage -------------------------------------------------------------------------------------------------------- */

/* Tasks that the run may have in the queue. Half of what slurmctld keeps is for others, and for the jobs that compile and merge. */
static size_t wave_size(const struct slurm_launch *l)
{
    size_t half = l->limits.max_jobs / 2;
    return l->settings.wave > 0 ? (size_t)l->settings.wave : half > 0 ? half : 1;
}

/* Nodes that are not to be used: those of the settings, and those that fail. */
static int find_bad_nodes(struct submission *s, struct pkb_error *err)
{
    const struct slurm_settings *set = &s->l->settings;
    char failing[2048] = "";
    struct nodes *nodes = calloc(1, sizeof(*nodes));
    int rc = nodes ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0 && s->e->progress->counts[OUTCOME_INFRA_ERROR] > 0)
        rc = nodes_read(nodes, s->e->run->path, err);
    if (rc == 0)
        nodes_failing(nodes, (uint64_t)set->bad_node_errors, failing, sizeof(failing));
    (void)snprintf(s->exclude, sizeof(s->exclude), "%s%s%s", set->exclude ? set->exclude : "",
                   set->exclude && failing[0] ? "," : "", failing);
    if (failing[0])
        display_warn(&s->e->display, "%s had %d infra errors or more and will not be used (--slurm bad_node_errors=0 uses all)",
                     failing, set->bad_node_errors);
    free(nodes);
    return rc;
}

/* What the queue holds of the run already. */
struct queued {
    struct submission *s;
    size_t pending, running;
};

static void visit_queued(void *arg, size_t i, const struct slurm_jobs_entry *e, const struct slurm_state *state)
{
    struct queued *q = arg;
    size_t n = slurm_starts_elements(state);
    (void)i;
    if (!state->active || e->kind != SLURM_JOBS_EVALUATE)
        return;
    (void)slurm_arrays_mark(state->elements, e->base, q->s->busy, q->s->e->plan->n_shards);
    *(state->pending ? &q->pending : &q->running) += n;
}

static int find_busy(struct submission *s, struct pkb_error *err)
{
    struct queued q = {.s = s};
    s->l->jobs = slurm_jobs_read(s->e->run->path, err);
    if (!s->l->jobs || slurm_starts_visit(s->l->api, s->l->jobs, NULL, visit_queued, &q, err) < 0)
        return -1;
    size_t wave = wave_size(s->l), used = q.pending + q.running;
    s->room = used < wave ? wave - used : 0;
    if (used > 0)
        display_say(&s->e->display, "%zu tasks of the run are in the queue already: %zu run, %zu wait", used, q.running,
                    q.pending);
    return 0;
}

/* Whether a shard is left that no job of the queue has. */
static bool any_open(const struct submission *s)
{
    for (size_t i = 0; i < s->e->plan->n_shards; i++)
        if (!s->busy[i] && engine_open_cells(s->e, &s->e->plan->shards[i]) > 0)
            return true;
    return false;
}

static int submit_all(struct submission *s, struct pkb_error *err)
{
    if (find_busy(s, err) < 0 || find_bad_nodes(s, err) < 0 || submission_make_env(&s->env, err) < 0)
        return -1;
    int rc = any_open(s) ? submission_build(s, err) : 0;
    if (rc == 0)
        rc = submit_worlds(s, err);
    if (rc < 0)
        pkb_error_prefix(err, "%zu jobs are submitted, then one was not ('pkb resume %s' submits the rest)", s->arrays,
                         s->e->run->path);
    if (s->arrays > 0 && submission_merge(s, rc < 0 ? NULL : err) < 0)
        rc = -1;
    if (rc == 0 && s->left > 0)
        display_say(&s->e->display, "%zu more tasks follow once these are over: a wave has %zu (--slurm wave=N)", s->left,
                    wave_size(s->l));
    if (rc == 0)
        display_say(&s->e->display, "%zu cells in %zu tasks are submitted; 'pkb status %s' shows how far they are", s->cells,
                    s->shards, s->e->run->path);
    return rc;
}

int engine_slurm_build(struct engine *e, struct pkb_error *err)
{
    return slurm_settings_build_by_jobs(&e->slurm->settings) ? 0 : engine_build(e, err);
}

int engine_slurm_submit(struct engine *e, struct pkb_error *err)
{
    struct submission s = {.e = e, .l = e->slurm, .busy = calloc(e->plan->n_shards + 1, sizeof(bool))};
    int rc = s.busy ? submit_all(&s, err) : pkb_error_set(err, "out of memory");
    e->submitted = rc == 0;
    words_clear(&s.env);
    free(s.after);
    free(s.after_build);
    free(s.busy);
    return rc;
}
