/* SPDX-License-Identifier: Apache-2.0 */
/* Job arrays from lists of shards. Slurm limits an array's *indexes*, so shard numbers beyond the limit are counted from a base. */
#ifndef PKB_ORCHESTRATOR_SLURM_ARRAYS_H
#define PKB_ORCHESTRATOR_SLURM_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct slurm_array {
    int base;      /* shard = base + index */
    char *indexes; /* "0-6,9" */
    size_t n;      /* of them */
};

struct slurm_arrays {
    struct slurm_array *list;
    size_t n;
};

/* Cuts ascending shard numbers into arrays whose indexes are below `limit`. */
int slurm_arrays_make(const int *shards, size_t n, uint32_t limit, struct slurm_arrays *arrays, struct pkb_error *err);
void slurm_arrays_clear(struct slurm_arrays *arrays);

/* Marks base + i in wanted[0..n) for every index i of "0-6,9%4". False when the text is none or an index is outside. */
bool slurm_arrays_mark(const char *indexes, int base, bool *wanted, size_t n);

/* How many indexes "0-6,9%4" has; 0 when the text is none. */
size_t slurm_arrays_count(const char *indexes);

#endif
