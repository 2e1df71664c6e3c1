/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of node_agent/protocol.h, as an agent makes them. */
#ifndef PKB_NODE_AGENT_COMMAND_H
#define PKB_NODE_AGENT_COMMAND_H

#include "node_agent/agent.h"
#include "node_agent/loop.h"
#include "node_agent/phase.h"

/* How many sets of inputs timed iterations rotate over, and how many of their outputs are checked. */
int command_timed_sets(const struct plan_setting *s);
int command_samples(const struct plan_setting *s);

/* "start" for the reference (object NULL) or a candidate. NULL without memory. */
json_t *command_start(const struct agent *a, const struct plan_setting *s, const struct runner *runner, const char *object);

/* "trials" and "quit". */
json_t *command_word(const char *word);

/* "time": `sample` may be NULL. */
json_t *command_time(int warmup, int iterations, const int *sample, int n_samples);

/* One phase with a command (taken over; NULL counts as out of memory). As phase_run. */
int command_run(struct agent *a, struct runner *runner, const char *why, json_t *command, int64_t started, double limit_seconds,
                struct decision *d, struct pkb_error *err);

/* What the ranks' runners have said of their start: lists with an entry per rank. */
struct command_started {
    json_t *devices; /* names */
    json_t *seconds; /* what the parts of "start" took */
};
void command_started_clear(struct command_started *s);

/* The first phase; *s is filled when it succeeds. */
int command_run_start(struct agent *a, struct runner *runner, const char *why, json_t *command, int64_t started,
                      double limit_seconds, struct command_started *s, struct decision *d, struct pkb_error *err);

/* The last: succeeds when all runners exit with 0. */
int command_run_quit(struct agent *a, struct runner *runner, int64_t started, double limit_seconds, struct decision *d,
                     struct pkb_error *err);

/* The timed loop, with a warm-up as a command of its own. Fills *loop when it succeeds. */
int command_run_time(struct agent *a, struct runner *runner, const struct plan_setting *s, const int *sample, int n_samples,
                     int64_t started, double limit_seconds, struct loop *loop, struct decision *d, struct pkb_error *err);

#endif
