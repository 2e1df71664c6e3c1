/* SPDX-License-Identifier: Apache-2.0 */
/* What earlier runs took, for the plan of the next: `--learn RUN`. */
#ifndef PKB_ORCHESTRATOR_LEARN_H
#define PKB_ORCHESTRATOR_LEARN_H

#include "sweeps/estimates.h"
#include "util/words.h"

struct learned {
    struct estimates *estimates; /* NULL: no run was named */
    uint64_t cells;              /* whose records were used */
    size_t runs;
};

/* Reads the plans and records of runs, also of runs that are not complete. Cells whose result is final count with what they took on the
 * nodes, compilation aside. Clear it in any case. */
int learn_runs(const struct words *runs, struct learned *l, struct pkb_error *err);
void learned_clear(struct learned *l);

/* How the shards of a plan were sized: "12 of 14 settings as measured (310 cells of 2 runs), the others by the cost model". */
void learn_describe(const struct learned *l, const struct plan *p, bool has_time, char *text, size_t size);

/* {"source": "time", "learned" or "cost", "settings": N learned, "cells": N, "runs": N} */
json_t *learn_json(const struct learned *l, const struct plan *p, bool has_time);

#endif
