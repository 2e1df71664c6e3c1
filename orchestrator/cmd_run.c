/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/engine.h"
#include "orchestrator/engine_options.h"
#include "orchestrator/options.h"
#include "orchestrator/slurm/launch.h"
#include "orchestrator/slurm/options.h"

enum { KEY_RUN = 0x100, KEY_CACHE, KEY_SHARD_SECONDS, KEY_LEARN, KEY_TOPOLOGY };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct engine_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = o;
        return 0;
    case KEY_RUN:
        o->run = arg;
        return 0;
    case KEY_CACHE:
        o->build_cache = arg;
        return 0;
    case KEY_SHARD_SECONDS:
        o->shard_seconds = option_shard_seconds(state, arg);
        return 0;
    case KEY_LEARN:
        option_add(state, &o->learn, arg);
        return 0;
    case KEY_TOPOLOGY:
        o->topology = arg;
        return 0;
    default:
        return option_sweep(key, arg, state, &o->sweep);
    }
}

static const struct argp_option options[] = {
    {"run", KEY_RUN, "DIR", 0, "Run directory to create (default: runs/NAME-TIME)", 0},
    {"build-cache", KEY_CACHE, "DIR", 0, "Compiled candidates, shared between runs (default: in the run directory)", 0},
    {"shard-seconds", KEY_SHARD_SECONDS, "S", 0, "Work per shard, roughly (default: 600)", 0},
    {"learn", KEY_LEARN, "RUN", 0, "Size shards by what an earlier run took; may be repeated", 0},
    {"topology", KEY_TOPOLOGY, "NAME", 0,
     "Machine that it runs on, kept for 'pkb roofline' and 'pkb report': a name of 'pkb topo list', a file, or none (default: "
     "the "
     "GPUs of this machine for device cuda, else none)",
     0},
    {0}};

static const struct argp_child children[] = {{&engine_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    options,
    parse,
    "SWEEP.lua",
    "Runs a sweep: plans it, builds its candidates, evaluates every cell and prints the tables. What is finished stays: "
    "after Ctrl-C, a crash or a power cut, 'pkb resume RUN' does the rest.\v" PKB_EXIT_DOC,
    children,
    NULL,
    NULL};

int cmd_run(int argc, char **argv)
{
    static const struct engine_stage local[] = {
        {"load", engine_load},         {"plan", engine_plan},   {"create", engine_create},
        {"lock", engine_lock},         {"read", engine_read},   {"build", engine_build},
        {"evaluate", engine_evaluate}, {"merge", engine_merge}, {NULL, NULL},
    };
    static const struct engine_stage slurm[] = {
        {"load", engine_load},       {"plan", engine_plan},         {"prepare", engine_slurm_prepare},
        {"create", engine_create},   {"lock", engine_lock},         {"keep", engine_slurm_keep},
        {"read", engine_read},       {"build", engine_slurm_build}, {"submit", engine_slurm_submit},
        {"wait", engine_slurm_wait}, {"merge", engine_slurm_merge}, {NULL, NULL},
    };
    struct engine_options o = {.argc = argc, .argv = argv};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    struct pkb_error err;
    if (!o.launcher)
        o.launcher = launcher_default(&err);
    int code =
        !o.launcher ? command_fail(PKB_EXIT_USAGE, &err) : engine_command(&o, strcmp(o.launcher, "slurm") == 0 ? slurm : local);
    words_clear(&o.slurm);
    words_clear(&o.learn);
    return code;
}
