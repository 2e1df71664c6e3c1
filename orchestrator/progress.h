/* SPDX-License-Identifier: Apache-2.0 */
/* Which cells of a plan have which result, from the records of a run. */
#ifndef PKB_ORCHESTRATOR_PROGRESS_H
#define PKB_ORCHESTRATOR_PROGRESS_H

#include <jansson.h>
#include <stdint.h>

#include "results/digest_index.h"
#include "results/record.h"
#include "sweeps/plan.h"

#define PROGRESS_NO_RECORD OUTCOME_COUNT

struct progress {
    const struct plan *plan; /* borrowed */
    struct digest_index *index;
    uint8_t *outcome;                   /* per cell: enum outcome, or PROGRESS_NO_RECORD; a final one stays */
    uint64_t counts[OUTCOME_COUNT + 1]; /* cells with each of them */
    uint64_t final;                     /* cells with a final result */
    uint64_t lines, bad_lines, foreign; /* lines read; those that are not records; records of cells that are not in the plan */
    char last_started[24];              /* the latest start of a recorded cell, "" without one */
    char trouble[512];                  /* the latest "infra_error: detail" or "not_run: detail", "" without one */
    char since[24];                     /* set by the caller before reading: count finals that started from then on */
    uint64_t final_since;
};

/* Nothing has a record yet. `p` must be a whole plan and outlive the result. */
struct progress *progress_create(const struct plan *p, struct pkb_error *err);
void progress_destroy(struct progress *p);

/* Reads all of RUN/records/, or the file of one attempt (which may be missing). Lines that are torn or malformed are counted. */
int progress_read(struct progress *p, const char *run, struct pkb_error *err);
int progress_read_attempt(struct progress *p, const char *run, int shard, int attempt, struct pkb_error *err);

/* Notes one result, as an agent reports it. */
void progress_note(struct progress *p, const char *cell, int outcome);

/* Cells of a shard without a final result. */
uint64_t progress_missing(const struct progress *p, const struct plan_shard *shard);

/* {"correct": N, ...}: outcomes that occurred. NULL when memory runs out. */
json_t *progress_outcomes(const struct progress *p);

/* "correct 12, crash 1" */
void progress_describe(const struct progress *p, char *text, size_t size);

#endif
