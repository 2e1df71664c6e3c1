/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a run whose directory is test_folder. What goes wrong fails the running cmocka test. */
#ifndef PKB_TESTS_SUPPORT_RUN_RECORDS_H
#define PKB_TESTS_SUPPORT_RUN_RECORDS_H

#include "results/record.h"
#include "sweeps/plan.h"

/* Appends to the file of a shard's attempt, which is made with its folder when it is not there. */
void run_records_append(int shard, int attempt, const char *text);

/* A record as a line with its newline. The caller frees it. */
char *run_records_line(const struct record *r);

/* What became of a cell, as synthetic_record makes it. */
struct given_record {
    size_t cell;
    enum outcome outcome;
    double speedup; /* over 2 ms */
};

/* Attempt 1 of shard 0 anew: these records and `tail`; then merges the run. */
void run_records_write(const struct plan *p, const struct given_record *given, size_t n, const char *tail);

#endif
