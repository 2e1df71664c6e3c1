/* SPDX-License-Identifier: Apache-2.0 */
/* Options that run and resume share: the launcher and what it needs. */
#ifndef PKB_ORCHESTRATOR_SLURM_OPTIONS_H
#define PKB_ORCHESTRATOR_SLURM_OPTIONS_H

#include <argp.h>

#include "orchestrator/engine.h"

/* A child of argp; its input is a struct engine_options. */
extern const struct argp launcher_argp;

/* The launcher where none was named: $PKB_LAUNCHER, else "slurm" where pkb can submit jobs (its plugin and a slurm.conf are there) and
 * is not in a job itself, else "local". NULL with the error set for an unknown $PKB_LAUNCHER. */
const char *launcher_default(struct pkb_error *err);

#endif
