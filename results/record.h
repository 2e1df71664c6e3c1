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

/* A longer line is no record: writers refuse it, readers skip it with a reason and without holding it in memory. */
#define RECORD_MAX_LINE (4 << 20)

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
    uint64_t seed; /* below 2^63 */
    enum outcome outcome;
    int rank;                           /* that saw it first; -1: none */
    char detail[1024];                  /* empty for correct */
    struct record_times baseline, time; /* max over ranks; iterations 0 where not measured */
    double speedup;                     /* baseline.mean / time.mean, 0: one of them was not measured */
    int attempt;
    char started[24]; /* UTC */
    json_t *more;     /* object with the rest: trial errors, raw samples per rank, nodes, device names, versions, phases (s) */
};

/* The reference's times of one setting in one attempt. */
struct record_baseline {
    char setting[PKB_DIGEST_HEX];
    char problem[64], family[32], dtype[16], shape[64], device[16];
    int world, nodes, attempt;
    struct record_times before, after; /* the setting's candidates; iterations 0 where not measured */
    double drift;                      /* after.mean / before.mean - 1; 0 where one of them was not measured */
    char started[24];                  /* UTC */
    json_t *more;                      /* as in struct record */
};

/* What a line is. */
enum record_kind { RECORD_CELL, RECORD_BASELINE };

/* To JSON (new reference; NULL when memory runs out, a name is not UTF-8 or a number is not finite) and back. `detail` may hold
 * any bytes: what is not UTF-8 becomes '?'. Decoding validates every member (types, lengths, ranges, and that times and speedup
 * agree with each other) and says which is wrong; `more` becomes a new reference. The clear functions free `more`. */
json_t *record_encode(const struct record *r);
int record_decode(const json_t *value, struct record *r, struct pkb_error *err);
void record_clear(struct record *r);
json_t *record_baseline_encode(const struct record_baseline *b);
int record_baseline_decode(const json_t *value, struct record_baseline *b, struct pkb_error *err);
void record_baseline_clear(struct record_baseline *b);

/* Kind of a line: 0, or -1 for an unknown schema version or kind. */
int record_kind_of(const json_t *value, enum record_kind *kind, struct pkb_error *err);

/* ---- files ---------------------------------------------------------------------------------------------------------- */

struct record_log;

/* Creates the file of a shard attempt (fails if it exists), and RUN/records/ where it is missing. Attempts count from 1. */
struct record_log *record_log_create(const char *run, int shard, int attempt, struct pkb_error *err);

/* Appends one line and fsyncs. On failure (disk full, I/O error) the file is cut back to its last complete line, so that a later
 * append is whole; -1. Reals are written with 15 significant digits. A process under a file size limit must ignore SIGXFSZ. */
int record_log_append(struct record_log *log, const json_t *value, struct pkb_error *err);
void record_log_close(struct record_log *log);

/* Name of a shard attempt's file, and back: true when `name` is one. */
char *record_file_name(int shard, int attempt, struct pkb_error *err); /* the caller frees */
bool record_file_parse(const char *name, int *shard, int *attempt);

/* Calls `visit` for every complete line of a file, in order (lines count from 1); lines that are not JSON objects come as NULL with
 * the reason. `value` and `reason` are borrowed for the call. Stops when visit returns non-zero and returns that; -1 with the error
 * set when the file cannot be read. Files of millions of lines: results/record_scan.h is ten times faster. */
typedef int record_visit_fn(void *arg, int64_t line, json_t *value, const char *reason);
int record_file_read(const char *path, record_visit_fn *visit, void *arg, struct pkb_error *err);

/* The attempt number for the next attempt of a shard (1 + the largest there is; 1 without a file or a records folder). */
int record_next_attempt(const char *run, int shard, int *attempt, struct pkb_error *err);

#endif
