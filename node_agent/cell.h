/* SPDX-License-Identifier: Apache-2.0 */
/* One cell: a candidate against the reference of its setting, and its record. */
#ifndef PKB_NODE_AGENT_CELL_H
#define PKB_NODE_AGENT_CELL_H

#include "node_agent/agent.h"
#include "node_agent/command.h"
#include "node_agent/decide.h"
#include "node_agent/loop.h"

#define CELL_MAX_SAMPLES 16

/* What agent 0 announces of a cell that is to be run. */
struct cell_task {
    size_t cell;  /* in a->plan->cells */
    char *object; /* the candidate's shared object */
    int n_samples;
    int sample[CELL_MAX_SAMPLES]; /* the timed iterations that are checked: distinct, ascending */
    double build_seconds;
};

enum cell_step { CELL_REFERENCE, CELL_START, CELL_TRIALS, CELL_JUDGE, CELL_TIME, CELL_QUIT, CELL_CHECK, CELL_STEPS };

/* How it went: all ranks know the same, apart from the durations. */
struct cell_result {
    struct decision decision;
    struct loop loop;
    struct record_times baseline;
    json_t *trials; /* per rank: largest errors per trial */
    struct command_started start;
    json_t *gpus; /* per rank: the GPU's state before and after; NULL on the host */
    double seconds[CELL_STEPS];
    double total;
    char started[24];
};

/* Runs a cell on all ranks. 0 with *result filled, or -1 when the attempt ends. */
int cell_run(struct agent *a, const struct cell_task *task, struct cell_result *result, struct pkb_error *err);
void cell_result_clear(struct cell_result *result);

/* Agent 0: appends the record and prints the line of progress. */
int cell_record(struct agent *a, const struct cell_task *task, const struct cell_result *result, struct pkb_error *err);

/* The same for a cell that ends without being run; `rank` saw it first, -1: none. */
int cell_record_unrun(struct agent *a, size_t cell, enum outcome outcome, int rank, const char *detail, double build_seconds,
                      struct pkb_error *err);

#endif
