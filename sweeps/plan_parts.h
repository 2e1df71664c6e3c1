/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the plan share. */
#ifndef PKB_SWEEPS_PLAN_PARTS_H
#define PKB_SWEEPS_PLAN_PARTS_H

#include "sweeps/plan.h"

/* Numbers of settings, candidates and cells have 9 digits in plan/cells. */
#define PLAN_MAX 999999999u

/* ---- plan_candidates.c: what the store holds ----------------------------------------------------------------------- */

/* Samples of one model and problem that are not in the store. */
struct plan_missing {
    const char *model; /* of the sweep */
    int samples;
    bool other_device; /* a file is there, but for another device */
};

/* The part of the store that belongs to one problem. */
struct plan_range {
    uint32_t first, count;        /* of the plan's candidates */
    struct plan_missing *missing; /* at most 2 per model */
    size_t n_missing;
};

/* Fills p->candidates, sorted by problem, model, sample, and one range per problem of the sweep (the caller frees them with
 * plan_ranges_destroy). */
int plan_find_candidates(const struct sweep *s, struct plan *p, struct plan_range **ranges, struct pkb_error *err);
void plan_ranges_destroy(struct plan_range *ranges, int n);

/* Drops candidates that no cell uses. */
int plan_drop_unused(struct plan *p, struct pkb_error *err);

/* ---- plan_skips.c -------------------------------------------------------------------------------------------------- */

/* Counts cells that are left out. Call it with settings in plan order, so that equal reasons are found at the end of the list. */
int plan_skip_add(struct plan *p, const struct problem *problem, const char *model, int world, uint64_t count, const char *reason,
                  struct pkb_error *err);

/* ---- plan_setting.c ------------------------------------------------------------------------------------------------ */

/* Computes s->digest. */
int plan_setting_seal(struct plan_setting *s, struct pkb_error *err);

/* ---- plan_shards.c ------------------------------------------------------------------------------------------------- */

/* Groups the cells into shards. `seconds` holds the expected time of each cell; NULL: by estimates. */
int plan_make_shards(struct plan *p, const float *seconds, double shard_seconds, struct estimates *learned,
                     struct pkb_error *err);

/* ---- plan_cells.c: lines of plan/cells ----------------------------------------------------------------------------- */

#define PLAN_LINE 20

/* Writes the lines of cells. */
void plan_format_cells(const struct plan_cell *cells, size_t n, char *text);

/* Reads n lines, the cells first ... of the plan, which must be in order and within the plan's tables. */
int plan_parse_cells(const struct plan *p, const char *text, uint64_t first, size_t n, struct plan_cell *cells,
                     struct pkb_error *err);

/* ---- plan_shard_lines.c: lines of plan/shards ---------------------------------------------------------------------- */

#define PLAN_SHARD_LINE 106

/* Writes the lines of all shards; `cells` are the lines of plan/cells, whose digests they hold. */
int plan_format_shards(const struct plan *p, const char *cells, char *text, struct pkb_error *err);

/* plan.json and plan/shards, checked; the cells are still missing. */
struct plan_index {
    struct plan *plan;
    uint64_t n_cells, n_shards;
    char shards_digest[PKB_DIGEST_HEX];    /* of plan/shards */
    char (*shard_digests)[PKB_DIGEST_HEX]; /* of each shard's lines in plan/cells */
};

/* Reads the lines of plan/shards, which must be the ranges of the plan's cells, one behind the other. */
int plan_parse_shards(struct plan_index *index, const char *text, size_t size, struct pkb_error *err);

/* ---- plan_decode.c ------------------------------------------------------------------------------------------------- */

int plan_decode(const json_t *value, struct plan_index *index, struct pkb_error *err);
void plan_index_clear(struct plan_index *index);

#endif
