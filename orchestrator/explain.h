/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about single cells of a run: their records, whose fault a failure is, what the log files hold about them, and, where
 * there is no verdict and jobs did the work, what Slurm did with their tasks. */
#ifndef PKB_ORCHESTRATOR_EXPLAIN_H
#define PKB_ORCHESTRATOR_EXPLAIN_H

#include <jansson.h>

#include "orchestrator/rundir.h"
#include "results/record.h"

/* A record of the cell. */
struct explain_record {
    char *file; /* in RUN/records/ */
    int64_t line;
    int shard;
    struct record record; /* `more` is NULL */
    bool counts;          /* the first final one */
};

/* Text from a log. */
struct explain_log {
    char *path; /* relative to the run directory where it lies there */
    char *text; /* its part about the cell, the last lines of it */
};

/* A start of the cell's task; or a task that waits. */
struct explain_task {
    char name[32];        /* "17_3" */
    const char *state;    /* "TIMEOUT", ...; a constant */
    char *reason, *nodes; /* why it waits, ""; where it ran, "" */
    int64_t start;        /* seconds since 1970; 0: it has not begun */
    double seconds;       /* that it ran */
};

struct explain_cell {
    uint64_t number; /* in the plan */
    const struct plan_setting *setting;
    const struct plan_candidate *candidate;
    const struct plan_shard *shard;
    char digest[PKB_DIGEST_HEX];
    struct explain_record *records; /* in the order in which they count */
    size_t n_records;
    struct explain_log *logs;
    size_t n_logs;
    struct explain_task *tasks; /* in the order of their starts; none where a record decides */
    size_t n_tasks;
};

struct explain {
    struct rundir *run;
    struct plan *plan;
    struct explain_cell *cells;
    size_t n;
    char slurm_trouble[256]; /* why nothing is known of tasks, "" */
};

/* Finds the cells that `pattern` names: the first six or more digits of a digest, "#N" (the number that logs give), or
 * MODEL/PROBLEM/SAMPLE[@RANKS], each part a shell pattern; a problem's number will do. More than
 * `most` cells are an error that says how many there are, none is one too. Returns an exit code; clear it in any case. */
int explain_read(struct explain *e, const char *run, const char *pattern, size_t most, struct pkb_error *err);
void explain_clear(struct explain *e);

/* The record that decides, or the last one; NULL without one. */
const struct explain_record *explain_verdict(const struct explain_cell *c);

/* Whose fault an outcome is: "nobody's", "the candidate's", ... `r` may be NULL: no record. */
const char *explain_fault(const struct explain_record *r);

/* What the outcome means, and what to do next: one sentence each. */
const char *explain_meaning(const struct explain_record *r);
const char *explain_next(const struct explain_record *r);

#endif
