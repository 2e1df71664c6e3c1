/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/run_topology.h"

#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"

#define NONE "none"

/* Ranks that share a GPU through the host's memory use no links: no description fits. */
static bool shares_gpus(void)
{
    const char *comm = getenv("PKB_COMM");
    return comm && strcmp(comm, "staged") == 0;
}

static int discover(struct topology *t, struct pkb_error *err)
{
    struct machine m;
    if (machine_read(NULL, &m, err) == 0 && machine_topology(&m, "discovered", NULL, t, err) == 0)
        return 1;
    pkb_error_prefix(err, "the run will not know its machine (--topology names it)");
    return 0;
}

int run_topology_choose(const char *name, const char *device, bool here, struct topology *t, struct pkb_error *err)
{
    err->text[0] = '\0';
    if (name && strcmp(name, NONE) == 0)
        return 0;
    if (name)
        return topology_find(name, NULL, t, err) < 0 ? pkb_error_prefix(err, "--topology") : 1;
    return strcmp(device, "cuda") == 0 && here && !shares_gpus() ? discover(t, err) : 0;
}

int run_topology_find(const struct rundir *r, const char *name, const char *folder, struct topology *t, struct pkb_error *err)
{
    if (!name)
        return rundir_topology(r, t, err);
    return topology_find(name, folder, t, err) < 0 ? pkb_error_prefix(err, "--topology") : 1;
}
