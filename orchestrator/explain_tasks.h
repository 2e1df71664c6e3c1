/* SPDX-License-Identifier: Apache-2.0 */
/* What Slurm did with the tasks of cells that have no verdict. */
#ifndef PKB_ORCHESTRATOR_EXPLAIN_TASKS_H
#define PKB_ORCHESTRATOR_EXPLAIN_TASKS_H

#include "orchestrator/explain.h"

/* Fills the tasks of cells without a final record, where the run's jobs were submitted to Slurm. That Slurm does not answer is no
 * failure. */
int explain_tasks_read(struct explain *e, struct pkb_error *err);

/* What such an end means and what to do: one sentence; "" when it says nothing about the cell. */
const char *explain_tasks_meaning(const char *state);

#endif
