/* SPDX-License-Identifier: Apache-2.0 */
/* What evaluations will take, for the sizes of shards: from the cost model, or from what earlier runs took. What was measured is kept per
 * problem, world size, dtype, device and shape, as a multiple of the cost model's estimate, so that it holds for other numbers of
 * trials and iterations too. */
#ifndef PKB_SWEEPS_ESTIMATES_H
#define PKB_SWEEPS_ESTIMATES_H

#include <stdbool.h>
#include <stdint.h>

#include "sweeps/plan.h"

struct estimate {
    double reference; /* seconds of the reference, once for a setting in a shard */
    double cell;      /* seconds of each cell of the setting */
};

/* What was measured with one setting, in seconds. */
struct estimate_sample {
    double cells_took; /* all cells together, without the reference */
    uint64_t cells;
    double references_took; /* all runs of the reference together */
    uint64_t references;
};

struct estimates;

struct estimates *estimates_create(struct pkb_error *err);
void estimates_destroy(struct estimates *e); /* NULL-safe */

/* Adds to what is known of a setting; samples of equal settings count by their cells. */
int estimates_add(struct estimates *e, const struct plan_setting *s, const struct estimate_sample *m, struct pkb_error *err);

/* What a setting is expected to take, a cell at most its limit. True: as was measured; false (always for `e` NULL): by the cost
 * model, which counts the reference with the cells. */
bool estimates_find(struct estimates *e, const struct plan_setting *s, struct estimate *out);

#endif
