/* SPDX-License-Identifier: Apache-2.0 */
/* A miniature agent for all ranks at once, in one process: spawns real pkb-runners, serves their exchanges, and finds out what
 * happened. For tests of the runner; the real agent does this over several processes. */
#ifndef PKB_TESTS_SUPPORT_ONE_CELL_H
#define PKB_TESTS_SUPPORT_ONE_CELL_H

#include "node_agent/judge.h"
#include "node_agent/protocol.h"
#include "sweeps/plan.h"
#include "util/process.h"

#define ONE_CELL_MAX_WORLD 4
#define ONE_CELL_TIMED_SETS 2
#define ONE_CELL_SAMPLES 3

struct one_rank {
    struct process process;
    pid_t group; /* of everything that the runner has started */
    struct lines *lines;
    struct segment inputs, expected, slots, page;
    struct problem_setting setting;
    struct segment_layout layout;
    json_t *answer;           /* to the last command */
    json_t *blob;             /* of an exchange that is going on */
    double wall_ns, queue_ns; /* of the last command */
    int64_t sent_ns, queue_before;
};

struct one_cell {
    struct plan_setting setting;
    struct one_rank ranks[ONE_CELL_MAX_WORLD];
    int world;
    int timeout_ms; /* of one command */
    int log;        /* what runners write */
    uint64_t address_space;
    /* What ended the last command if not all ranks answered it. */
    enum outcome outcome;
    int rank;
    char detail[2048];
};

/* Problem by name in f32, 3 trials. `params` NULL: tiny sizes. */
void one_cell_open(struct one_cell *c, const char *problem, int world, const double *params);
void one_cell_close(struct one_cell *c);

/* Starts runners with a role on all ranks and sends "start". 0, or -1 with the outcome set. `object` may be NULL for the reference. */
int one_cell_start(struct one_cell *c, const char *role, const char *object);

/* Starts a runner on one rank without sending anything. */
void one_cell_spawn(struct one_cell *c, int rank, const char *role);

/* The message "start" of a rank, to be sent or spoilt. */
json_t *one_cell_start_message(const struct one_cell *c, int rank, const char *role, const char *object);

/* Sends a command to all ranks (steals it) and waits for their answers. 0, or -1 with the outcome set. */
int one_cell_command(struct one_cell *c, json_t *command);

/* Sends "quit" and waits until all have ended with 0, or kills what is there after a failure. */
void one_cell_quit(struct one_cell *c);

/* What the last command "time" has measured, as the judge takes it. */
struct one_loop {
    double *ns[ONE_CELL_MAX_WORLD], wall[ONE_CELL_MAX_WORLD], queue[ONE_CELL_MAX_WORLD];
    struct judge_loop loop;
};
void one_cell_loop(const struct one_cell *c, struct one_loop *copy);
void one_loop_free(struct one_loop *copy);

/* Reference runs and seals the inputs. */
void one_cell_reference(struct one_cell *c);

/* The whole way of a candidate: start, trials, judge, warm-up, timed loop, judge. The outcome is in c. */
void one_cell_candidate(struct one_cell *c, const char *object);

#endif
