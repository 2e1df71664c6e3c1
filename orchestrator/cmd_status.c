/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/status.h"

struct choice {
    const char *run;
    bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'j':
        c->json = true;
        return 0;
    default:
        return option_run(key, arg, state, &c->run);
    }
}

static const struct argp_option options[] = {{"json", 'j', NULL, 0, "Print JSON", 0}, {0}};

static const struct argp argp = {
    options,
    parse,
    "RUN",
    "How far a run is: cells done, outcomes, shards, whether somebody drives it, rate and expected end; of a run by jobs, "
    "what Slurm says of them. Changes nothing.\v" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

int cmd_status(int argc, char **argv)
{
    struct choice c = {0};
    static struct status s;
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    int code = status_read(&s, c.run, &err);
    if (code == PKB_EXIT_OK) {
        int rc = c.json ? status_print_json(&s, &err) : (status_print(&s), 0);
        code = rc < 0 ? PKB_EXIT_SYSTEM : PKB_EXIT_OK;
    }
    if (code != PKB_EXIT_OK)
        command_fail((enum pkb_exit)code, &err);
    else if (s.progress->final < s.plan->n_cells && !s.driven)
        code = PKB_EXIT_INCOMPLETE;
    status_clear(&s);
    return code;
}
