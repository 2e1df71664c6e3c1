/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine a run is on. */
#ifndef PKB_ORCHESTRATOR_RUN_TOPOLOGY_H
#define PKB_ORCHESTRATOR_RUN_TOPOLOGY_H

#include "orchestrator/rundir.h"

/* For a run that is to be made. `name`: what --topology said ("none": none); NULL: what this machine's GPUs say, for device "cuda" with
 * ranks on this machine alone (`here`) and on GPUs of their own. 1; 0: none is known, and err->text says why where a user could do
 * something about it, else is empty; -1: there is none of this name. */
int run_topology_choose(const char *name, const char *device, bool here, struct topology *t, struct pkb_error *err);

/* For figures of a run: what --topology names (in pkb's own folder, then in `folder`, which may be NULL), else what the run keeps.
 * 1; 0: neither; -1. */
int run_topology_find(const struct rundir *r, const char *name, const char *folder, struct topology *t, struct pkb_error *err);

#endif
