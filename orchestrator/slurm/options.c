/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/options.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/options.h"
#include "orchestrator/slurm/api.h"

enum { KEY_LAUNCHER = 0x200, KEY_SITE, KEY_SLURM, KEY_WAIT };

static const struct argp_option options[] = {
    {"launcher", KEY_LAUNCHER, "NAME", 0,
     "How agents are started: local (on this machine) or slurm (by jobs; the default where there is a Slurm)", 10},
    {"slurm", KEY_SLURM, "KEY=VALUE", 0, "Setting of the jobs, over those of the sweep and the site; may be repeated", 10},
    {"site", KEY_SITE, "FILE", 0, "Settings of the site (default: $PKB_SITE, then /etc/pkb/site.yaml)", 10},
    {"wait", KEY_WAIT, NULL, 0, "slurm: wait for the jobs, then print the tables", 10},
    {0}};

static bool is_launcher(const char *name)
{
    return strcmp(name, "local") == 0 || strcmp(name, "slurm") == 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct engine_options *o = state->input;
    switch (key) {
    case KEY_LAUNCHER:
        if (!is_launcher(arg))
            argp_error(state, "--launcher: there is no launcher '%s'; there are 'local' and 'slurm'", arg);
        o->launcher = arg;
        return 0;
    case KEY_SLURM:
        option_add(state, &o->slurm, arg);
        return 0;
    case KEY_SITE:
        o->site = arg;
        return 0;
    case KEY_WAIT:
        o->wait = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp launcher_argp = {.options = options, .parser = parse};

const char *launcher_default(struct pkb_error *err)
{
    struct pkb_error why;
    const char *named = getenv("PKB_LAUNCHER");
    if (named && !is_launcher(named)) {
        pkb_error_set(err, "PKB_LAUNCHER: there is no launcher '%s'; there are 'local' and 'slurm'", named);
        return NULL;
    }
    if (named)
        return named;
    return !getenv("SLURM_JOB_ID") && slurm_api_load(&why) ? "slurm" : "local";
}
