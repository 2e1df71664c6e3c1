/* SPDX-License-Identifier: Apache-2.0 */
/* pkb eval: one candidate of one problem as a run of its own in a temporary folder. */
#ifndef PKB_ORCHESTRATOR_EVAL_H
#define PKB_ORCHESTRATOR_EVAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "orchestrator/engine.h"
#include "problems/problem.h"

struct eval_request {
    const char *problem, *candidate; /* as the user gave them */
    const struct problem *of;        /* set by eval_prepare */
    int gpus;
    const char *shape, *dtype, *device;
    const char *set[PROBLEM_MAX_PARAMS]; /* "NAME=VALUE": parameters that differ from the shape's */
    int n_set;
    int trials, warmup, iterations;
    double limit_seconds;
    int64_t limit_memory_mb;
    const char *keep;        /* the run directory is made there and stays; NULL: temporary */
    const char *build_cache; /* NULL: in the run directory */
    bool json;
};

struct eval_place {
    char folder[256]; /* temporary, "" when there is none */
    char *sweep;      /* FOLDER/eval.lua */
    char *run;        /* FOLDER/run, or `keep` */
};

/* Checks the request and writes what the engine needs: a store with the candidate and a sweep with one cell. 0, or a code of exit.h
 * with the error set. eval_remove afterwards in any case. */
int eval_prepare(struct eval_request *r, struct eval_place *place, struct pkb_error *err);
void eval_remove(struct eval_place *place);

/* What came of it: {"record": {...} or null, "log": TEXT, "run": PATH or null, "exit": CODE}. "log" is the end of the compiler's log after
 * a compile error, else of what the runner of the rank that failed first printed, else of agent 0. NULL with the error set. */
json_t *eval_result(const struct engine *e, const struct eval_request *r, struct pkb_error *err);

/* The same for people, on standard output. */
void eval_print(const json_t *result, const struct eval_request *r);

#endif
