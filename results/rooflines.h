/* SPDX-License-Identifier: Apache-2.0 */
/* Measured times of a run against the rooflines of a machine: closeness to the hardware. docs/topology.md explains the figures. */
#ifndef PKB_RESULTS_ROOFLINES_H
#define PKB_RESULTS_ROOFLINES_H

#include <stdbool.h>
#include <stdio.h>

#include "sweeps/plan.h"
#include "topology/roofline.h"

/* One time of one setting. */
struct roofline_cell {
    struct roofline roofline;
    double measured_ns;
    double utilisation; /* bound / measured; 0: not known */
    enum roofline_verdict verdict;
};

/* The roofline of a planned setting whose ranks were on `nodes` nodes (0: as few as possible), and what a time of `measured_ns` (0: not
 * measured) says. The topology must outlive *c. -1: the machine has no links for such a world. */
int roofline_for_cell(const struct topology *t, const struct plan_setting *s, int nodes, double measured_ns,
                      struct roofline_cell *c, struct pkb_error *err);

/* The settings of a plan (of which no cells are needed), by digest. The caller destroys it; plan and topology must outlive it. */
struct rooflines;
struct rooflines *rooflines_create(const struct plan *plan, const struct topology *t, struct pkb_error *err);
void rooflines_destroy(struct rooflines *r);
const struct topology *rooflines_topology(const struct rooflines *r);

/* roofline_for_cell of the setting with this digest; an unknown digest is an error. */
int rooflines_cell(struct rooflines *r, const char *digest, int nodes, double measured_ns, struct roofline_cell *c,
                   struct pkb_error *err);

/* Prints one line per setting that has a correct timed candidate, with the utilisation of the reference and of the fastest candidate,
 * and every candidate that is impossibly fast; or the same as JSON. RUN/results.db must be up to date. */
int rooflines_print(const char *run, struct rooflines *r, FILE *out, bool json, bool colour, struct pkb_error *err);

#endif
