/* SPDX-License-Identifier: Apache-2.0 */
/* The census of a run: of all candidates in its plan. */
#ifndef PKB_ORCHESTRATOR_CENSUS_RUN_H
#define PKB_ORCHESTRATOR_CENSUS_RUN_H

#include "orchestrator/rundir.h"
#include "results/census.h"
#include "sweeps/plan.h"

struct census_run {
    struct plan *plan; /* its candidates; the cells are not all there */
    struct census *of; /* per candidate of the plan */
    size_t listings;   /* candidates whose machine code was there to read */
};

/* Reads the copies of the sources in the run and, as far as they are in its build cache under this machine's compilers, the
 * listings of their machine code. */
int census_run_load(const struct rundir *run, struct census_run *r, struct pkb_error *err);
void census_run_clear(struct census_run *r);

/* Candidates of one model. */
struct census_model {
    const char *name; /* borrowed from the plan */
    size_t candidates;
    size_t uses[MECHANISM_COUNT];
    size_t host_only;
    size_t none; /* device code without any mechanism */
};

/* Per model, sorted by name; the caller frees. NULL when memory runs out. */
struct census_model *census_run_models(const struct census_run *r, size_t *n, struct pkb_error *err);

#endif
