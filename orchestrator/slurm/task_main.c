/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-slurm-task: what a task of a job array runs, on the first node of its allocation. Works through one shard: a world of agents by
 * srun, and further ones while they bring results. Or compiles its part of the candidates. */
#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/command.h"
#include "orchestrator/engine.h"
#include "orchestrator/options.h"
#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/srun.h"

#define REQUEUE_SECONDS 600 /* longer than any grace time that makes sense */

struct task {
    struct engine engine; /* first: stages get its address */
    int shard;
};

struct arguments {
    struct engine_options options;
    long base, shard;
    struct words srun;
};

enum { KEY_RUN = 'r', KEY_BASE = 'b', KEY_SHARD = 's', KEY_SRUN = 0x100, KEY_BUILD };

static const struct argp_option option_table[] = {
    {"run", KEY_RUN, "DIR", 0, "Run directory", 0},
    {"base", KEY_BASE, "N", 0, "The shard is N + $SLURM_ARRAY_TASK_ID", 0},
    {"shard", KEY_SHARD, "N", 0, "The shard, outside of an array", 0},
    {"build", KEY_BUILD, "TASKS", 0, "Compile candidates instead, as one of so many tasks", 0},
    {"srun", KEY_SRUN, "OPTION", 0, "An option of srun; may be repeated", 0},
    {0}};

/* The shard, or the part of the candidates, that the job array means. */
static void finish(struct arguments *a, struct argp_state *state)
{
    const char *index = getenv("SLURM_ARRAY_TASK_ID");
    if (!a->options.run)
        argp_error(state, "--run is missing");
    if (a->options.build_parts > 0) {
        a->options.build_part =
            (size_t)option_integer(state, "SLURM_ARRAY_TASK_ID", index ? index : "0", 0, (long)a->options.build_parts - 1);
        return;
    }
    if (a->shard < 0 && !index)
        argp_error(state, "there is no SLURM_ARRAY_TASK_ID here, as jobs of an array have; or name the shard: --shard");
    if (a->shard < 0)
        a->shard = a->base + option_integer(state, "SLURM_ARRAY_TASK_ID", index, 0, 999999);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case KEY_RUN:
        a->options.run = arg;
        return 0;
    case KEY_BASE:
        a->base = option_integer(state, "--base", arg, 0, 999999);
        return 0;
    case KEY_SHARD:
        a->shard = option_integer(state, "--shard", arg, 0, 999999);
        return 0;
    case KEY_BUILD:
        a->options.build_parts = (size_t)option_integer(state, "--build", arg, 1, 999999);
        return 0;
    case KEY_SRUN:
        option_add(state, &a->srun, arg);
        return 0;
    case ARGP_KEY_END:
        finish(a, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {option_table,
                                 parse,
                                 NULL,
                                 "The task of a job array that pkb submits: evaluates one shard on the nodes of the job, or "
                                 "compiles a part of the candidates. SIGUSR1 "
                                 "stops it between two cells, SIGTERM "
                                 "at once; what is recorded stays.\v" PKB_EXIT_DOC,
                                 NULL,
                                 NULL,
                                 NULL};

static const struct plan_shard *find_shard(const struct task *t)
{
    const struct plan *p = t->engine.plan;
    for (size_t i = 0; i < p->n_shards; i++)
        if (p->shards[i].id == t->shard)
            return &p->shards[i];
    return NULL;
}

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value ? value : otherwise;
}

static int evaluate(struct engine *e, struct pkb_error *err)
{
    const struct plan_shard *shard = find_shard((struct task *)e);
    bool hopeless = false;
    if (!shard)
        return pkb_error_set(err, "the plan has no shard %d", ((struct task *)e)->shard);
    if (stop_catch_drain(&e->stop, err) < 0)
        return -1;
    (void)fprintf(stderr, "pkb: shard %d, %d ranks, %llu cells to do; job %s on %s, restart %s\n", shard->id, shard->world,
                  (unsigned long long)engine_open_cells(e, shard), variable("SLURM_JOB_ID", "-"),
                  variable("SLURM_JOB_NODELIST", "-"), variable("SLURM_RESTART_COUNT", "0"));
    return engine_shard(e, shard, &hopeless, err);
}

static void note_preemption(void *arg, const struct slurm_state *s)
{
    bool *preempted = arg;
    *preempted = *preempted || s->preempted;
}

/* A job that ends while it is being preempted is over; Slurm requeues only what it had to kill. */
static void wait_for_requeue(void)
{
    struct pkb_error err;
    bool preempted = false;
    const char *job = getenv("SLURM_JOB_ID");
    const struct slurm_api *api = job ? slurm_api_load(&err) : NULL;
    if (!api || api->states((uint32_t)strtoul(job, NULL, 10), note_preemption, &preempted, &err) < 0 || !preempted)
        return;
    (void)fprintf(stderr, "pkb: preempted; waiting to be requeued\n");
    (void)sleep(REQUEUE_SECONDS);
}

static int run_build(const struct arguments *a)
{
    static const struct engine_stage stages[] = {
        {"open", engine_open}, {"read", engine_read}, {"build", engine_build}, {NULL, NULL}};
    struct engine e;
    engine_init(&e, &a->options);
    int code = engine_go(&e, stages);
    engine_destroy(&e);
    return code;
}

static int run_shard(const struct arguments *a)
{
    static const struct engine_stage stages[] = {
        {"open", engine_open}, {"read", engine_read}, {"evaluate", evaluate}, {NULL, NULL}};
    struct task t = {.shard = (int)a->shard};
    struct launcher srun;
    slurm_srun_launcher(&srun, &a->srun);
    engine_init(&t.engine, &a->options);
    t.engine.launcher = &srun;
    int code = engine_go(&t.engine, stages);
    const struct plan_shard *shard = t.engine.plan ? find_shard(&t) : NULL;
    if (shard && t.engine.progress && code <= PKB_EXIT_INCOMPLETE)
        code = engine_open_cells(&t.engine, shard) == 0 ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
    if (code == PKB_EXIT_INCOMPLETE || code == PKB_EXIT_INTERRUPTED)
        wait_for_requeue();
    engine_destroy(&t.engine);
    return code;
}

int main(int argc, char **argv)
{
    struct arguments a = {.options = {.quiet = true}, .shard = -1};
    argp_err_exit_status = PKB_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int code = a.options.build_parts > 0 ? run_build(&a) : run_shard(&a);
    words_clear(&a.srun);
    return code;
}
