/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/engine.h"
#include "orchestrator/engine_options.h"
#include "orchestrator/options.h"
#include "orchestrator/slurm/launch.h"

enum { KEY_FORCE_BUILD = 0x100, KEY_UNTRIED };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct engine_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = o;
        return 0;
    case KEY_FORCE_BUILD:
        o->force_build = true;
        return 0;
    case KEY_UNTRIED:
        o->untried = true;
        return 0;
    default:
        return option_run(key, arg, state, &o->run);
    }
}

static const struct argp_option options[] = {
    {"force-build", KEY_FORCE_BUILD, NULL, 0, "Go on although another build of pkb made the run", 0},
    {"untried", KEY_UNTRIED, NULL, 0, "slurm: only shards that no job has worked at; what the job at the end of a wave does", 0},
    {0}};

static const struct argp_child children[] = {{&engine_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {options,
                                 parse,
                                 "RUN",
                                 "Evaluates the cells of a run that have no final result yet, whatever stopped it before, and "
                                 "prints the tables.\v" PKB_EXIT_DOC,
                                 children,
                                 NULL,
                                 NULL};

int cmd_resume(int argc, char **argv)
{
    static const struct engine_stage local[] = {
        {"open", engine_open},         {"lock", engine_lock},   {"read", engine_read}, {"build", engine_build},
        {"evaluate", engine_evaluate}, {"merge", engine_merge}, {NULL, NULL},
    };
    static const struct engine_stage slurm[] = {
        {"open", engine_open},           {"prepare", engine_slurm_prepare},
        {"lock", engine_lock},           {"keep", engine_slurm_keep},
        {"read", engine_read},           {"build", engine_slurm_build},
        {"submit", engine_slurm_submit}, {"wait", engine_slurm_wait},
        {"merge", engine_slurm_merge},   {NULL, NULL},
    };
    struct engine_options o = {.argc = argc, .argv = argv};
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!o.launcher)
        o.launcher = slurm_launch_is_run(o.run) ? "slurm" : "local";
    int code = engine_command(&o, strcmp(o.launcher, "slurm") == 0 ? slurm : local);
    words_clear(&o.slurm);
    return code;
}
