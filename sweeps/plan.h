/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: the cells of a sweep, grouped into shards, in memory and in the run directory.
 *
 * A cell is a pair (setting, candidate). A setting is everything that determines an evaluation apart from the candidate, so all
 * cells with one setting share a reference run. Cells are sorted by world size, setting, model, sample; a shard is a range of
 * them with one world size.
 *
 * On disk, written once (format 1):
 *     RUN/plan/plan.json   { "format": 1, "settings": [...], "candidates": [...], "skipped": [...], "cells": N, "shards": N,
 *                            "shards_digest": SHA-256 of plan/shards }
 *     RUN/plan/shards      one fixed-width line per shard: "WWWW FFFFFFFFF NNNNNNNNN MMMMMMMMMMMMMMM DIGEST\n", world size, first
 *                          cell, number of cells, estimate in milliseconds, SHA-256 of its lines in plan/cells
 *     RUN/plan/cells       one fixed-width line "SSSSSSSSS CCCCCCCCC\n" per cell (decimal setting and candidate, 9 digits each), so that a
 *                          shard reads its own range only
 *
 * A cell's digest is SHA-256("pkb cell 1\n" + setting digest + "\n" + candidate digest + "\n") in hexadecimal; a setting's digest
 * is the SHA-256 of its canonical JSON (sorted keys, compact, fractions as texts in %.17g) without the fields digest and
 * limits. Two candidates with the same source have the same cell digest: a record belongs to a cell by model and sample as well.
 */
#ifndef PKB_SWEEPS_PLAN_H
#define PKB_SWEEPS_PLAN_H

#include <jansson.h>
#include <stdint.h>

#include "problems/problem.h"
#include "sweeps/sweep.h"
#include "util/digest.h"
#include "util/error.h"

/* Everything that determines an evaluation apart from the candidate. */
struct plan_setting {
    const struct problem *problem;
    int world, dtype;
    char shape[64];
    char device[16];
    double params[PROBLEM_MAX_PARAMS]; /* in the order of problem->params */
    int trials, warmup, iterations;
    uint64_t seed;
    enum problem_profile inputs, tolerance;
    double atol, rtol;
    double limit_seconds;    /* wall clock of a candidate: all its phases together */
    int64_t limit_memory_mb; /* address space of a candidate's runner; 0: unlimited */
    char digest[PKB_DIGEST_HEX];
};

struct plan_candidate {
    const struct problem *problem;
    char *model;
    int sample;
    char *path;                  /* where it was found */
    char kind[4];                /* "c", "cu" or "py" */
    char digest[PKB_DIGEST_HEX]; /* of the source; also its name under RUN/candidates/ */
};

struct plan_cell {
    uint32_t setting, candidate;
};

struct plan_shard {
    int id, world;
    uint64_t first, count; /* range of cells */
    double seconds;        /* estimate */
};

/* The reason of cells that the sweep's own `where` left out. */
#define PLAN_LEFT_OUT_BY_WHERE "left out by where"

/* Cells left out, with one reason each; equal reasons of one problem and world size are counted together. */
struct plan_skip {
    const struct problem *problem;
    char *model; /* NULL: all models */
    int world;   /* 0: all */
    uint64_t count;
    char *reason;
};

struct plan {
    struct plan_setting *settings;
    size_t n_settings;
    struct plan_candidate *candidates;
    size_t n_candidates;
    struct plan_cell *cells; /* of all shards, or of one after plan_load_shard */
    size_t n_cells;
    uint64_t first_cell; /* number of cells[0] in the whole plan */
    struct plan_shard *shards;
    size_t n_shards;
    struct plan_skip *skips;
    size_t n_skips;
    size_t n_learned; /* settings whose time was learned from earlier runs; known after plan_make only */
};

struct estimates;

/* Expands a sweep: finds candidates in the store, applies world-size constraints and `where`, groups cells into shards of about
 * `shard_seconds` (0: 600) by the sweep's `time`, else by what was learned (NULL: nothing), else by the cost model. 1,000,000 cells
 * take under 2 s. A sweep that leaves no cell is an error that says why. */
struct plan *plan_make(struct sweep *s, double shard_seconds, struct estimates *learned, struct pkb_error *err);
void plan_destroy(struct plan *p);

/* Writes RUN/plan/; reads it whole (from files, or from their texts), or what one shard needs: all settings and candidates, that shard's
 * cells. Settings, shards and the lines of a shard must fit the digests that were written. */
struct plan_texts {
    const char *json, *shards, *cells;
    size_t json_size, shards_size, cells_size;
};
int plan_save(const struct plan *p, const char *run, struct pkb_error *err);
struct plan *plan_load(const char *run, struct pkb_error *err);
struct plan *plan_load_text(const struct plan_texts *texts, struct pkb_error *err);
struct plan *plan_load_shard(const char *run, int shard, struct pkb_error *err);

/* The digest of a cell, in hexadecimal. */
int plan_cell_digest(const struct plan *p, const struct plan_cell *cell, struct pkb_digest *d, char hex[PKB_DIGEST_HEX],
                     struct pkb_error *err);

/* A setting as JSON (what plan.json and the runner's start message hold) and back. */
json_t *plan_setting_encode(const struct plan_setting *s);
int plan_setting_decode(const json_t *value, struct plan_setting *s, struct pkb_error *err);

/* The setting of one rank. */
void plan_setting_for_rank(const struct plan_setting *s, int rank, struct problem_setting *out);

#endif
