/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions as pure functions of a round's entries: all agents come to the same. */
#ifndef PKB_NODE_AGENT_DECIDE_H
#define PKB_NODE_AGENT_DECIDE_H

#include <jansson.h>
#include <stdbool.h>

#include "node_agent/judge.h"
#include "node_agent/rounds.h"
#include "node_agent/supervise.h"
#include "results/record.h"

/* How a cell, or a phase of it, ended. */
struct decision {
    enum outcome outcome;
    int rank;                 /* that saw it first; -1: none */
    bool killed;              /* by somebody else: worth another try */
    char detail[1024];        /* empty for correct */
    char output[RUNNER_TEXT]; /* the last that the runner of that rank printed */
};

/* What one rank's agent says of its runner's end. */
struct exit_report {
    enum outcome outcome;
    bool refused; /* an allocation had failed */
    bool killed;  /* by a signal that comes from outside as a rule, neither from an agent nor for want of memory */
    double seconds;
    char detail[512]; /* without the rank */
    char stage[128];
    char output[RUNNER_TEXT];
};

/* The report of a runner that ended or broke the protocol by itself; `inside` says so in its text. */
void exit_report_from_end(const struct runner_end *end, struct exit_report *report);

/* As the data of an EXIT or ABORTED. The caller frees. */
char *exit_report_encode(const struct exit_report *report);

enum round_result {
    ROUND_CONTINUES, /* all exchange */
    ROUND_FINISHED,  /* all are done */
    ROUND_FAILED,    /* *decision */
};

/* What a round of a phase means. `hosts` has a name per rank. */
enum round_result decide_phase(const struct rounds *r, int world, char *const *hosts, struct decision *decision);

/* One rank's verdict as the data of a VERDICT. The caller frees. `more` (borrowed, may be NULL) goes along. */
char *verdict_encode(enum outcome outcome, const char *detail, const json_t *more);

/* The worst of all ranks' verdicts, the lowest rank of equal ones. *more, unless NULL, becomes the list of the ranks' `more`. */
int decide_verdict(const struct rounds *r, int world, struct decision *decision, json_t **more, struct pkb_error *err);

#endif
