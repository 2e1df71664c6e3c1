/* SPDX-License-Identifier: Apache-2.0 */
/* Roofline: how fast a problem could be on a machine, and which resource says so. docs/topology.md derives the model.
 *
 * Two times are computed for one call, the maximum over ranks:
 *     bound   what an ideal implementation of the problem's cost model takes; utilisation = bound / measured
 *     floor   what no implementation can undercut: caches may hold the data, switches may add, elements may travel in one byte,
 *             the fastest units may be used. A correct result in less time did not do the work.
 * Times are seconds.
 */
#ifndef PKB_TOPOLOGY_ROOFLINE_H
#define PKB_TOPOLOGY_ROOFLINE_H

#include "problems/problem.h"
#include "topology/topology.h"

enum roofline_resource { ROOFLINE_NOTHING, ROOFLINE_COMPUTE, ROOFLINE_MEMORY, ROOFLINE_LINK };

/* "none", "compute", "memory", "link" */
const char *roofline_resource_name(enum roofline_resource r);

/* What one rank has to do. */
struct roofline_work {
    int dtype;
    double flops;
    double memory_bytes;
    double least_memory_bytes; /* that every implementation moves: the inputs it needs and the outputs, once */
    double link_bytes;         /* sent */
};

/* Bytes that a rank sends over one class of links. */
struct roofline_hop {
    const struct topology_link *link;
    double bytes;
    double seconds; /* bytes / bandwidth + latency */
};

struct roofline {
    double compute, memory, link; /* of the bound: seconds per resource */
    double bound;
    enum roofline_resource binds;
    struct roofline_hop hops[SPAN_COUNT]; /* the classes in use; they work at the same time */
    int n_hops;
    double floor; /* margin not yet taken off */
    int rank;     /* whose work it is */
};

enum roofline_verdict {
    ROOFLINE_UNKNOWN,     /* nothing measured, or nothing to do */
    ROOFLINE_PLAUSIBLE,   /* at or above the bound */
    ROOFLINE_ABOVE_MODEL, /* faster than the bound, but possible: caches, reductions in switches, narrower transfers */
    ROOFLINE_IMPOSSIBLE,  /* faster than the floor with its margin */
};

/* "unknown", "plausible", "above_model", "impossible" */
const char *roofline_verdict_name(enum roofline_verdict v);

/* How much faster than the floor still counts as possible: clocks above the datasheet's, algorithms with fewer operations, timer
 * resolution. A time is impossible below floor * ROOFLINE_MARGIN - ROOFLINE_TIMER. Only a datasheet's figures
 * are limits: with measured or estimated ones nothing is called impossible. */
#define ROOFLINE_MARGIN 0.75
#define ROOFLINE_TIMER 1e-6

/* Ranks of a world of this size in nodes of the topology, in order. `nodes` is the number of nodes they are on; 0: as few as
 * possible. Links are missing for such a world: -1 with the reason. */
int roofline_compute(const struct topology *t, const struct roofline_work *w, int world, int nodes, struct roofline *r,
                     struct pkb_error *err);

/* The work of one rank of a problem. */
void roofline_work_of(const struct problem_setting *s, struct roofline_work *w);

/* The roofline of a problem: that of the rank with the largest bound. The floor is the largest of all ranks. s->rank is ignored. */
int roofline_for_setting(const struct topology *t, const struct problem_setting *s, int nodes, struct roofline *r,
                         struct pkb_error *err);

/* bound / measured (0 when either is 0), and what it says. */
double roofline_utilisation(const struct roofline *r, double measured);
enum roofline_verdict roofline_judge(const struct topology *t, const struct roofline *r, double measured);

/* As an object: the terms in nanoseconds, the binding resource, the links (new reference; NULL when memory runs out). */
json_t *roofline_encode(const struct roofline *r);

#endif
