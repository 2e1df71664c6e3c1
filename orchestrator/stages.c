/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of the engine, in the order in which they come. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build-id.h"
#include "node_agent/agent.h"
#include "orchestrator/attempt.h"
#include "orchestrator/engine.h"
#include "orchestrator/learn.h"
#include "orchestrator/run_topology.h"
#include "results/merge.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/tuning.h"

int engine_load(struct engine *e, struct pkb_error *err)
{
    e->code = PKB_EXIT_USAGE;
    e->sweep = sweep_load(e->o->sweep, err);
    return e->sweep ? 0 : -1;
}

/* *how: what was learned, "" without --learn. */
static int make_plan(struct engine *e, char *how, size_t size, struct pkb_error *err)
{
    struct learned learned;
    how[0] = '\0';
    if (learn_runs(&e->o->learn, &learned, err) == 0)
        e->plan = plan_make(e->sweep, e->o->shard_seconds, learned.estimates, err);
    if (e->plan && learned.estimates)
        learn_describe(&learned, e->plan, e->sweep->has_time, how, size);
    learned_clear(&learned);
    return e->plan ? 0 : -1;
}

int engine_plan(struct engine *e, struct pkb_error *err)
{
    char how[160];
    e->code = PKB_EXIT_USAGE;
    if (make_plan(e, how, sizeof(how), err) < 0)
        return -1;
    uint64_t skipped = 0;
    for (size_t i = 0; i < e->plan->n_skips; i++)
        skipped += e->plan->skips[i].count;
    display_say(&e->display, "%s: %zu cells in %zu shards", e->sweep->name, e->plan->n_cells, e->plan->n_shards);
    if (how[0])
        display_say(&e->display, "time: %s", how);
    if (skipped)
        display_say(&e->display, "%llu cells are left out; 'pkb plan %s' says why", (unsigned long long)skipped, e->o->sweep);
    return 0;
}

/* runs/NAME-20260131T235959Z, with -2, -3, ... where there is one from the same second. */
static char *default_path(const char *name, struct pkb_error *err)
{
    char now[32], compact[32];
    size_t n = 0;
    pkb_utc_now(now, sizeof(now));
    for (size_t i = 0; now[i]; i++)
        if (now[i] != '-' && now[i] != ':')
            compact[n++] = now[i];
    compact[n] = '\0';
    char *path = pkb_format(err, "runs/%s-%s", name, compact);
    for (int k = 2; path && pkb_file_exists(path) && k < 1000; k++) {
        free(path);
        path = pkb_format(err, "runs/%s-%s-%d", name, compact, k);
    }
    return path;
}

/* 1: *t is the machine's description; 0: none is known. */
static int choose_topology(struct engine *e, struct topology *t, struct pkb_error *err)
{
    bool here = !e->o->launcher || strcmp(e->o->launcher, "slurm") != 0;
    int rc = run_topology_choose(e->o->topology, e->sweep->device, here, t, err);
    if (rc < 0)
        e->code = PKB_EXIT_USAGE;
    else if (rc == 0 && err->text[0])
        display_warn(&e->display, "%s", err->text);
    return rc;
}

int engine_create(struct engine *e, struct pkb_error *err)
{
    struct topology topology;
    int known = choose_topology(e, &topology, err);
    if (known < 0)
        return -1;
    char *made = e->o->run ? NULL : default_path(e->sweep->name, err);
    struct rundir_options o = {.path = e->o->run ? e->o->run : made,
                               .build_cache = e->o->build_cache,
                               .launcher = e->o->launcher ? e->o->launcher : "local",
                               .topology = known ? &topology : NULL,
                               .argc = e->o->argc,
                               .argv = e->o->argv};
    if (o.path)
        e->run = rundir_create(&o, e->sweep, e->plan, err);
    free(made);
    if (!e->run)
        return -1;
    display_say(&e->display, "run directory %s", e->run->path);
    return 0;
}

/* Results of before and after would differ for reasons that no candidate has. */
static void compare_environment(struct engine *e)
{
    json_t *variables = tuning_variables();
    char *now = tuning_text(variables);
    if (now && strcmp(now, e->run->environment) != 0)
        display_warn(&e->display, "the environment is not that of the run: now '%s', then '%s'; times may not be comparable", now,
                     e->run->environment);
    json_decref(variables);
    free(now);
}

int engine_open(struct engine *e, struct pkb_error *err)
{
    e->code = PKB_EXIT_USAGE;
    e->run = rundir_open(e->o->run, err);
    if (!e->run)
        return -1;
    if (strcmp(e->run->build_id, PKB_BUILD_ID) != 0 && !e->o->force_build)
        return pkb_error_set(
            err,
            "%s was made by build %s of pkb, this is build %s: results would not be comparable; use that build, or "
            "--force-build",
            e->run->path, e->run->build_id, PKB_BUILD_ID);
    compare_environment(e);
    e->plan = plan_load(e->run->path, err);
    return e->plan ? 0 : -1;
}

int engine_lock(struct engine *e, struct pkb_error *err)
{
    int rc = rundir_lock(e->run, err);
    if (rc == -2)
        e->code = PKB_EXIT_BUSY;
    return rc < 0 ? -1 : 0;
}

int engine_read(struct engine *e, struct pkb_error *err)
{
    e->progress = progress_create(e->plan, err);
    if (!e->progress || progress_read(e->progress, e->run->path, err) < 0)
        return -1;
    if (e->progress->bad_lines)
        display_warn(&e->display, "%llu lines of %s/records are not records and are ignored",
                     (unsigned long long)e->progress->bad_lines, e->run->path);
    if (e->progress->final)
        display_say(&e->display, "%llu of %zu cells have a result already", (unsigned long long)e->progress->final,
                    e->plan->n_cells);
    return 0;
}

static int build_jobs(const struct engine *e)
{
    cpu_set_t set;
    if (e->o->build_jobs > 0)
        return e->o->build_jobs;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < 2 ? 2 : n;
}

int engine_build(struct engine *e, struct pkb_error *err)
{
    if (e->progress->final == e->plan->n_cells)
        return 0;
    struct builds_options o = {.jobs = build_jobs(e), .part = e->o->build_part, .parts = e->o->build_parts};
    e->builds = builds_make(e->run, e->progress, &o, &e->stop, &e->display, err);
    if (!e->builds)
        return -1;
    const struct builds *b = e->builds;
    display_say(&e->display, "candidates: %zu compiled, %zu found in the cache, %zu with compile errors", b->made, b->cached,
                b->errors);
    if (b->unavailable)
        display_warn(&e->display, "%zu candidates cannot be built; their cells are not run", b->unavailable);
    return 0;
}

/* ---- evaluation ------------------------------------------------------------------------------------------------------- */

uint64_t engine_open_cells(const struct engine *e, const struct plan_shard *s)
{
    uint64_t n = 0;
    for (uint64_t i = s->first; i < s->first + s->count; i++) {
        uint8_t o = e->progress->outcome[i];
        bool final = o < OUTCOME_COUNT && outcome_is_final((enum outcome)o);
        n += !final && !(e->builds && e->builds->failed[e->plan->cells[i].candidate]);
    }
    return n;
}

enum trial { TRIAL_PROGRESS, TRIAL_IDLE, TRIAL_HOPELESS, TRIAL_OVER };

/* One attempt: whether it brought a result. */
static int try_shard(struct engine *e, const struct plan_shard *s, enum trial *trial, struct pkb_error *err)
{
    struct attempt a = {e->launcher, e->run, s, 0, e->progress, &e->stop, &e->display};
    struct attempt_result result;
    uint64_t before = engine_open_cells(e, s);
    if (attempt_claim(e->run->path, s->id, &a.number, err) < 0)
        return -1;
    if (attempt_run(&a, &result, err) < 0)
        return pkb_error_prefix(err, "shard %d", s->id);
    *trial = engine_open_cells(e, s) < before ? TRIAL_PROGRESS : result.hopeless ? TRIAL_HOPELESS : TRIAL_IDLE;
    if (result.code == AGENT_EXIT_FENCED || result.code == AGENT_EXIT_DRAINED)
        *trial = TRIAL_OVER; /* somebody else has the shard, or it is to be left */
    if (result.code == AGENT_EXIT_STOPPED && e->launcher->drains)
        *trial = TRIAL_OVER; /* the cluster takes the job back */
    if (result.code != 0 && !result.stopped)
        display_warn(&e->display, "shard %d, attempt %d: %s (logs: %s/logs/shard-%06d.%03d)", s->id, a.number, result.text,
                     e->run->path, s->id, a.number);
    return 0;
}

int engine_shard(struct engine *e, const struct plan_shard *s, bool *hopeless, struct pkb_error *err)
{
    int idle = 0;
    while (engine_open_cells(e, s) > 0 && idle < ENGINE_MAX_IDLE && !*hopeless) {
        enum trial trial;
        if (try_shard(e, s, &trial, err) < 0)
            return -1;
        if (stop_asked(&e->stop))
            return 0;
        if (trial == TRIAL_OVER || e->stop.drain)
            break;
        idle = trial == TRIAL_PROGRESS ? 0 : idle + 1;
        *hopeless = trial == TRIAL_HOPELESS;
    }
    if (engine_open_cells(e, s) == 0)
        return 0;
    e->shards_left++;
    if (!*hopeless && idle >= ENGINE_MAX_IDLE)
        display_warn(&e->display, "shard %d is left: %d attempts in a row brought no result%s%s", s->id, idle,
                     e->progress->trouble[0] ? "; the last trouble: " : "", e->progress->trouble);
    return 0;
}

int engine_evaluate(struct engine *e, struct pkb_error *err)
{
    bool hopeless = false;
    display_start(&e->display, e->progress->final);
    for (size_t i = 0; i < e->plan->n_shards && !stop_asked(&e->stop); i++)
        if (engine_shard(e, &e->plan->shards[i], &hopeless, err) < 0)
            return -1;
    display_end(&e->display);
    return 0;
}

int engine_merge(struct engine *e, struct pkb_error *err)
{
    struct merge_summary summary;
    if (merge_run_plan(e->run->path, e->plan, &summary, err) < 0)
        return pkb_error_prefix(err, "the records are safe, but merging them failed ('pkb merge %s' tries again)", e->run->path);
    e->merged = true;
    return 0;
}
