/* SPDX-License-Identifier: Apache-2.0 */
/* Records: what happened, one JSON object per line, append-only.
 *
 * RUN/records/shard-SSSSSS.AAA.jsonl (shard number, attempt number) is written by agent 0 of one shard attempt alone: the
 * attempt number is its fencing token, the file is created with O_EXCL. A line counts once it is complete (ends in a newline) and
 * fsynced; a torn last line is ignored by readers. Kinds:
 *     "cell"      the result of one cell
 *     "baseline"  the reference's times of one setting in one attempt: before and after its candidates, and the drift
 * Unknown members are kept by tools that copy records and ignored by others. Times are nanoseconds.
 */
#ifndef PKB_RESULTS_RECORD_H
#define PKB_RESULTS_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/digest.h"
#include "util/error.h"

#define RECORD_SCHEMA 1

enum outcome {
    OUTCOME_CORRECT,
    OUTCOME_COMPILE_ERROR,
    OUTCOME_LOAD_ERROR,    /* no symbol, ABI mismatch */
    OUTCOME_RUNTIME_ERROR, /* returned non-zero, exited, CUDA error */
    OUTCOME_CRASH,         /* signal */
    OUTCOME_OUT_OF_MEMORY,
    OUTCOME_DEADLOCK, /* timed out, or waits for a rank that will never come */
    OUTCOME_SHAPE_MISMATCH,
    OUTCOME_VALUE_MISMATCH,
    OUTCOME_TAMPERING,
    OUTCOME_INFRA_ERROR, /* node, driver, launcher: never the candidate's fault, never counted */
    OUTCOME_NOT_RUN,
    OUTCOME_COUNT
};

/* "correct", "compile_error", ... and back (-1: unknown). */
const char *outcome_name(enum outcome o);
int outcome_parse(const char *name);

/* A result that stays: everything but infra_error and not_run. Resume runs cells without one. */
bool outcome_is_final(enum outcome o);

/* Statistics over timed iterations; each iteration's time is the maximum over ranks. iterations 0: not measured. */
struct record_times {
    int iterations;
    double mean, median, min, max, std; /* ns */
};

/* Over n samples (ns); std is the sample standard deviation (n - 1). */
void record_times_from_samples(struct record_times *t, const double *samples, int n);

struct record {
    char cell[PKB_DIGEST_HEX];
    char setting[PKB_DIGEST_HEX];
    char candidate[PKB_DIGEST_HEX];
    char model[128], problem[64], family[32], dtype[16], shape[64], device[16];
    int sample, world, nodes;
    uint64_t seed;
    enum outcome outcome;
    int rank;                           /* that saw it first; -1: none */
    char detail[1024];                  /* empty for correct */
    struct record_times baseline, time; /* max over ranks; iterations 0 where not measured */
    double speedup;                     /* baseline.mean / time.mean, 0: not measured */
    int attempt;
    char started[24]; /* UTC */
    json_t *more;     /* object with the rest: trial errors, raw samples per rank, nodes, device names, versions, phases (s) */
};

/* To JSON (new reference) and back. Decoding validates every member and says which is wrong. record_clear frees `more`. */
json_t *record_encode(const struct record *r);
int record_decode(const json_t *value, struct record *r, struct pkb_error *err);
void record_clear(struct record *r);

/* ---- files ---------------------------------------------------------------------------------------------------------- */

struct record_log;

/* Creates the file of a shard attempt (fails if it exists). */
struct record_log *record_log_create(const char *run, int shard, int attempt, struct pkb_error *err);

/* Appends one line and fsyncs. On failure (disk full, I/O error) the file is cut back to its last complete line, so that a later
 * append is whole; -1. */
int record_log_append(struct record_log *log, const json_t *value, struct pkb_error *err);
void record_log_close(struct record_log *log);

/* Calls `visit` for every complete line of a file, in order; lines that are not JSON objects come as NULL with the reason. Stops when visit
 * returns non-zero and returns that; -1 with the error set when the file cannot be read. */
typedef int record_visit_fn(void *arg, int64_t line, json_t *value, const char *reason);
int record_file_read(const char *path, record_visit_fn *visit, void *arg, struct pkb_error *err);

/* The attempt number for the next attempt of a shard (1 + the largest there is). */
int record_next_attempt(const char *run, int shard, int *attempt, struct pkb_error *err);

#endif
