/* SPDX-License-Identifier: Apache-2.0 */
/* The judge: decides from shared memory and clocks whether a candidate is right. Pure functions on memory, no I/O; runs in the
 * agent, never in a runner.
 *
 * Each rank's agent judges its own rank's outputs (judge_trial, judge_sample); the times need all ranks' samples
 * (judge_clock), which every agent can judge alike after a round.
 *
 * Memory that a candidate can write may change while it is read. The judge reads such memory through sizes and forms of the
 * layout alone, and takes a copy of what it decides on; still, judge once the runner has ended, so that the verdict is
 * about one state.
 */
#ifndef PKB_NODE_AGENT_JUDGE_H
#define PKB_NODE_AGENT_JUDGE_H

#include <stdbool.h>

#include "node_agent/segment.h"
#include "problems/problem.h"
#include "results/record.h"

/* What one rank's agent holds. The three areas have the sizes of the layout and are mapped readable. */
struct judge_view {
    const struct problem_setting *setting; /* of this rank */
    const struct segment_layout *layout;
    const void *inputs;   /* inputs segment, sealed */
    const void *expected; /* reference results */
    const void *slots;    /* candidate results: untrusted */
};

struct judge_verdict {
    enum outcome outcome;    /* OUTCOME_CORRECT, OUTCOME_SHAPE_MISMATCH or OUTCOME_VALUE_MISMATCH; OUTCOME_INFRA_ERROR
                                             when the reference's outputs make no sense or memory runs out */
    int tensor;              /* the output (or, with `input`, the input) that decided it; -1: correct */
    bool input;              /* an input was modified */
    double max_abs, max_rel; /* largest differences over all outputs that were compared */
    struct problem_difference difference; /* of the deciding output (of the last one when correct) */
    char detail
        [512]; /* empty when correct, else "trial 2: output y: 3 of 1728 elements differ, first at [0, 5]: expected 1.5, got 0 ..." */
};

/* Judges one trial (0 .. layout->trials - 1): the forms that the candidate left, then every output (those that count rows first, as
 * only the rows that count are looked at), then that the inputs are bit-identical to what was given. The first thing wrong decides. */
void judge_trial(const struct judge_view *v, int trial, struct judge_verdict *verdict);

/* Judges sample slot `sample` (0 .. layout->samples - 1), which holds timed iteration `iteration`. */
void judge_sample(const struct judge_view *v, int sample, int iteration, struct judge_verdict *verdict);

/* The set of inputs that a timed iteration uses: trials + iteration % timed sets. */
int judge_set_of_iteration(const struct segment_layout *layout, int iteration);

/* ---- clocks ------------------------------------------------------------------------------------------------------------ */

/* One timed loop on all ranks. Warm-up is a command of its own ("iterations": 0), so that the walls below contain timed
 * iterations alone. */
struct judge_loop {
    int world, iterations;
    const double *const *ns; /* [rank][iteration]: what the runner said; checked by judge_samples */
    const double *wall_ns;   /* [rank]: the agent's clock from sending the command to having the answer */
    const double *queue_ns;  /* [rank]: process_queue_wait() of the runner over the same stretch; negative: unknown */
};

struct judge_clock {
    enum outcome outcome;  /* OUTCOME_CORRECT or OUTCOME_TAMPERING */
    int rank;              /* whose samples are impossible; -1: all ranks' together, or correct */
    double claimed_ns;     /* sum over iterations of the maximum over ranks */
    double wall_ns;        /* shortest of the walls */
    double unexplained_ns; /* wall - claimed: copies of inputs, poison, barriers, scheduling */
    double allowed_ns;     /* what of it is believed */
    bool conclusive;       /* the loop was long enough that a claim of a tenth of the true time would have been noticed */
    char detail[512];
};

/* Checks one rank's samples by themselves: as many as iterations, finite, above 0. 0, or -1 with the reason: tampering. */
int judge_samples(const double *ns, int n, int iterations, struct pkb_error *err);

/* Whether the candidate's samples can be true, given the walls and the reference's loop of the same setting.
 *
 * Too much claimed: a rank's sum above its wall, or the claim above the longest wall (+ 1 % + 1 ms). Holds for every honest
 * runner whatever the load: both are the same monotonic clock, and iterations do not overlap.
 *
 * Too little claimed: unexplained > 3 x (reference's unexplained time per iteration) x iterations + (all ranks' queue waits)
 * + 0.5 x wall + 50 ms. The work outside the intervals is the same in both loops, so an honest candidate exceeds the
 * reference's share only where its ranks had to wait for a core; that is what the queue waits add, so an oversubscribed
 * or busy machine accuses nobody. Where a queue wait is unknown the second bound is not applied and nothing is conclusive.
 */
void judge_clock(const struct judge_loop *candidate, const struct judge_loop *reference, struct judge_clock *c);

#endif
