/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/engine.h"

#include <stdio.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/slurm/launch.h"

void engine_init(struct engine *e, const struct engine_options *o)
{
    *e = (struct engine){.o = o, .launcher = &launcher_local, .stop = STOP_NONE};
    display_init(&e->display, o->quiet);
}

void engine_destroy(struct engine *e)
{
    display_end(&e->display);
    builds_destroy(e->builds);
    progress_destroy(e->progress);
    slurm_launch_destroy(e->slurm);
    rundir_destroy(e->run);
    plan_destroy(e->plan);
    sweep_destroy(e->sweep);
    stop_close(&e->stop);
}

int engine_go(struct engine *e, const struct engine_stage *stages)
{
    struct pkb_error err = {""};
    e->code = PKB_EXIT_SYSTEM;
    if (stop_open(&e->stop, &err) < 0)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    for (const struct engine_stage *s = stages; s->name; s++) {
        e->code = PKB_EXIT_SYSTEM;
        if (s->run(e, &err) < 0) {
            display_end(&e->display);
            return command_fail((enum pkb_exit)e->code, &err);
        }
        if (stop_asked(&e->stop)) {
            e->code = PKB_EXIT_INTERRUPTED;
            return e->code;
        }
    }
    bool all = e->progress && e->progress->final == e->plan->n_cells;
    e->code = all || e->submitted ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
    return e->code;
}

/* Reasons why candidates could not be built: the first few. */
static void tell_unavailable(struct engine *e)
{
    size_t told = 0;
    for (size_t i = 0; e->builds && i < e->builds->n && told < 3; i++) {
        const struct plan_candidate *c = &e->plan->candidates[i];
        if (!e->builds->failed[i])
            continue;
        display_warn(&e->display, "%s/%s/%d was not run: %s", c->model, c->problem->name, c->sample, e->builds->failed[i]);
        told++;
    }
}

void engine_conclude(struct engine *e)
{
    if (!e->run || !e->progress)
        return;
    unsigned long long n = e->plan->n_cells, missing = n - e->progress->final;
    tell_unavailable(e);
    if (e->submitted && e->code == PKB_EXIT_OK)
        return;
    if (e->code == PKB_EXIT_INTERRUPTED)
        display_warn(&e->display, "interrupted: %llu of %llu cells have results; 'pkb resume %s' does the rest", n - missing, n,
                     e->run->path);
    else if (missing > 0)
        display_warn(&e->display, "%llu of %llu cells are without a final result; 'pkb resume %s' tries them again", missing, n,
                     e->run->path);
}

json_t *engine_summary(const struct engine *e)
{
    json_t *outcomes = e->progress ? progress_outcomes(e->progress) : json_object();
    uint64_t cells = e->plan ? e->plan->n_cells : 0, done = e->progress ? e->progress->final : 0;
    return json_pack("{s:s?, s:s?, s:I, s:I, s:o, s:I, s:I, s:b, s:i}", "run", e->run ? e->run->path : NULL, "name",
                     e->run ? e->run->name : NULL, "cells", (json_int_t)cells, "done", (json_int_t)done, "outcomes", outcomes,
                     "missing", (json_int_t)(cells - done), "shards_left", (json_int_t)e->shards_left, "interrupted",
                     e->code == PKB_EXIT_INTERRUPTED, "exit", e->code);
}
