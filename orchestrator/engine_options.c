/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/engine_options.h"

#include "orchestrator/engine.h"
#include "orchestrator/options.h"
#include "orchestrator/slurm/options.h"

enum { KEY_JOBS = 0x300 };

static const struct argp_option options[] = {
    {"build-jobs", KEY_JOBS, "N", 0, "Compilers at a time (default: one per processor, at least 2)", 0},
    {"quiet", 'q', NULL, 0, "No progress", 0},
    {"json", 'j', NULL, 0, "Print a summary as JSON instead of tables", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct engine_options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = o;
        return 0;
    case KEY_JOBS:
        o->build_jobs = (int)option_integer(state, "--build-jobs", arg, 1, 64);
        return 0;
    case 'q':
        o->quiet = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&launcher_argp, 0, NULL, 0}, {0}};

const struct argp engine_argp = {.options = options, .parser = parse, .children = children};
