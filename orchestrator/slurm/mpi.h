/* SPDX-License-Identifier: Apache-2.0 */
/* Whether srun here can start PMIx worlds. Jobs use the srun of their node, whose plugins are as a rule the same. */
#ifndef PKB_ORCHESTRATOR_SLURM_MPI_H
#define PKB_ORCHESTRATOR_SLURM_MPI_H

#include "util/error.h"

/* 0: `srun --mpi=list` names the type. -1: it does not; 1: it cannot be asked. Both with the error set, which for -1 says what to do. */
int slurm_mpi_check(const char *type, struct pkb_error *err);

#endif
