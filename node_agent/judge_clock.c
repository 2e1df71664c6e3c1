/* SPDX-License-Identifier: Apache-2.0 */
/* Whether reported times can be true. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "node_agent/judge.h"

#define MILLISECOND 1e6

/* Bounds of node_agent/judge.h. */
#define WALL_EXCESS 1.01
#define WALL_SLACK (1 * MILLISECOND)
#define REFERENCE_SHARE 3.0
#define WALL_SHARE 0.5
#define START_SLACK (50 * MILLISECOND)

/* A claim of this part of the true time should be noticed. */
#define NOTICED 0.1

int judge_samples(const double *ns, int n, int iterations, struct pkb_error *err)
{
    if (n != iterations)
        return pkb_error_set(err, "%d times were reported for %d iterations", n, iterations);
    for (int i = 0; i < n; i++)
        if (!(isfinite(ns[i]) && ns[i] > 0))
            return pkb_error_set(err, "iteration %d: %g ns is no possible time", i, ns[i]);
    return 0;
}

static double sum_of_maxima(const struct judge_loop *loop)
{
    double sum = 0;
    for (int i = 0; i < loop->iterations; i++) {
        double longest = 0;
        for (int r = 0; r < loop->world; r++)
            longest = fmax(longest, loop->ns[r][i]);
        sum += longest;
    }
    return sum;
}

static double sum_of_rank(const struct judge_loop *loop, int rank)
{
    double sum = 0;
    for (int i = 0; i < loop->iterations; i++)
        sum += loop->ns[rank][i];
    return sum;
}

static double shortest(const double *ns, int n)
{
    double least = n > 0 ? ns[0] : 0;
    for (int r = 1; r < n; r++)
        least = fmin(least, ns[r]);
    return least;
}

static double longest(const double *ns, int n)
{
    double most = n > 0 ? ns[0] : 0;
    for (int r = 1; r < n; r++)
        most = fmax(most, ns[r]);
    return most;
}

/* Together over ranks; negative where one is unknown. A rank cannot have waited for longer than the loop took. */
static double queue_waits(const struct judge_loop *loop)
{
    double sum = 0;
    for (int r = 0; r < loop->world; r++) {
        if (!(loop->queue_ns[r] >= 0))
            return -1;
        sum += fmin(loop->queue_ns[r], loop->wall_ns[r]);
    }
    return sum;
}

static double unexplained_per_iteration(const struct judge_loop *loop)
{
    if (loop->iterations < 1)
        return 0;
    return fmax(0, shortest(loop->wall_ns, loop->world) - sum_of_maxima(loop)) / loop->iterations;
}

static bool exceeds_wall(double claimed, double wall)
{
    return claimed > wall * WALL_EXCESS + WALL_SLACK;
}

static int check_excess(const struct judge_loop *loop, struct judge_clock *c)
{
    double wall = longest(loop->wall_ns, loop->world);
    for (int r = 0; r < loop->world; r++) {
        double claimed = sum_of_rank(loop, r);
        if (!exceeds_wall(claimed, loop->wall_ns[r]))
            continue;
        c->rank = r;
        (void)snprintf(c->detail, sizeof(c->detail),
                       "rank %d reports %.3f ms for %d iterations, but the whole loop took %.3f ms by its agent's clock", r,
                       claimed / MILLISECOND, loop->iterations, loop->wall_ns[r] / MILLISECOND);
        return -1;
    }
    if (!exceeds_wall(c->claimed_ns, wall))
        return 0;
    (void)snprintf(c->detail, sizeof(c->detail),
                   "the ranks report %.3f ms for %d iterations, but the whole loop took %.3f ms by the agents' clocks",
                   c->claimed_ns / MILLISECOND, loop->iterations, wall / MILLISECOND);
    return -1;
}

/* Fills what is allowed to be unexplained and checks it. */
static int check_missing(const struct judge_loop *loop, const struct judge_loop *reference, struct judge_clock *c)
{
    double queue = queue_waits(loop);
    double fixed = REFERENCE_SHARE * unexplained_per_iteration(reference) * loop->iterations + START_SLACK + fmax(0, queue);
    c->allowed_ns = fixed + WALL_SHARE * c->wall_ns;
    c->conclusive = queue >= 0 && (1 - NOTICED) * c->wall_ns > c->allowed_ns;
    if (queue < 0 || c->unexplained_ns <= c->allowed_ns)
        return 0;
    (void)snprintf(c->detail, sizeof(c->detail),
                   "the ranks report %.3f ms for %d iterations, but the loop took %.3f ms by the agents' clocks; at most %.3f ms "
                   "of it can be explained by other work",
                   c->claimed_ns / MILLISECOND, loop->iterations, c->wall_ns / MILLISECOND, c->allowed_ns / MILLISECOND);
    return -1;
}

void judge_clock(const struct judge_loop *candidate, const struct judge_loop *reference, struct judge_clock *c)
{
    memset(c, 0, sizeof(*c));
    c->outcome = OUTCOME_CORRECT;
    c->rank = -1;
    c->claimed_ns = sum_of_maxima(candidate);
    c->wall_ns = shortest(candidate->wall_ns, candidate->world);
    c->unexplained_ns = c->wall_ns - c->claimed_ns;
    if (check_excess(candidate, c) < 0 || check_missing(candidate, reference, c) < 0)
        c->outcome = OUTCOME_TAMPERING;
}
