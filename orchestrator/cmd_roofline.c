/* SPDX-License-Identifier: Apache-2.0 */
/* pkb roofline: how close a run's candidates are to the hardware. */
#include <argp.h>
#include <stdlib.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/run_topology.h"
#include "orchestrator/rundir.h"
#include "results/merge.h"
#include "results/plan_settings.h"
#include "results/report.h"
#include "results/rooflines.h"

struct choice {
    const char *run, *topology, *folder;
    bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 't':
        c->topology = arg;
        return 0;
    case 'd':
        c->folder = arg;
        return 0;
    case 'j':
        c->json = true;
        return 0;
    default:
        return option_run(key, arg, state, &c->run);
    }
}

static int merge_if_stale(const char *run, struct pkb_error *err)
{
    bool stale = false;
    if (merge_is_stale(run, &stale, err) < 0)
        return -1;
    return stale ? merge_run(run, NULL, err) : 0;
}

static int print(const struct rundir *run, const struct choice *c, struct pkb_error *err)
{
    struct topology t;
    int known = run_topology_find(run, c->topology, c->folder, &t, err);
    if (known == 0)
        pkb_error_set(err, "the run does not know its machine; --topology names it ('pkb topo list' lists those that are known)");
    if (known <= 0)
        return command_fail(PKB_EXIT_USAGE, err);
    struct plan *plan = plan_settings_load(run->path, err);
    struct rooflines *r = plan ? rooflines_create(plan, &t, err) : NULL;
    int rc = r ? merge_if_stale(run->path, err) : -1;
    if (rc == 0)
        rc = rooflines_print(run->path, r, stdout, c->json, report_wants_colour(stdout), err);
    rooflines_destroy(r);
    plan_destroy(plan);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, err) : PKB_EXIT_OK;
}

int cmd_roofline(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"topology", 't', "NAME", 0,
         "The machine that the run was on: a name of 'pkb topo list', or a file (default: what the run keeps)", 0},
        {"dir", 'd', "DIR", 0, "Look for topologies in DIR too, after pkb's own", 0},
        {"json", 'j', NULL, 0, "Print JSON", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "RUN",
        "The time that the machine needs at least for each problem, which resource says so, and how much "
        "of it the reference and the fastest candidate utilise. Candidates that are faster than any "
        "implementation can be are listed.\v" PKB_EXIT_DOC,
        NULL,
        NULL,
        NULL};
    struct choice c = {0};
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    struct rundir *run = rundir_open(c.run, &err);
    if (!run)
        return command_fail(PKB_EXIT_USAGE, &err);
    int code = print(run, &c, &err);
    rundir_destroy(run);
    return code;
}
