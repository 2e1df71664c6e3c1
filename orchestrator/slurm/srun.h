/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds as job steps: srun on the nodes of the job that this process belongs to. */
#ifndef PKB_ORCHESTRATOR_SLURM_SRUN_H
#define PKB_ORCHESTRATOR_SLURM_SRUN_H

#include "orchestrator/launcher.h"

/* Fills a launcher; `options` of srun are borrowed. */
void slurm_srun_launcher(struct launcher *l, const struct words *options);

#endif
