/* SPDX-License-Identifier: Apache-2.0 */
/* Batch scripts: what a job is, as text that people can read, change and hand to sbatch. */
#ifndef PKB_ORCHESTRATOR_SLURM_SCRIPT_H
#define PKB_ORCHESTRATOR_SLURM_SCRIPT_H

#include "orchestrator/slurm/api.h"
#include "util/words.h"

/* The text for a job whose other members are set: #SBATCH lines for all of them, `prolog`, then `command` (words that are quoted where they
 * must be), exec'ed: a shell would not pass signals on. The caller frees. */
char *slurm_script_make(const struct slurm_job *job, const char *title, const struct words *prolog, const struct words *command,
                        struct pkb_error *err);

#endif
