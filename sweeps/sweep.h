/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep: a Lua file that returns sweep { ... }, read in a sandbox.
 *
 *     return sweep {
 *         name       = "quick",                                -- default: the file's name without .lua
 *         candidates = "../examples/candidates",               -- folder, relative to the sweep file
 *         problems   = { "01_allreduce", 13, family "tensor_parallel" },   -- or problems.all
 *         models     = { "direct", "plain" },                  -- or models.all: every folder of the store, sorted
 *         samples    = 3,                                      -- 1..3, or a list of sample numbers
 *         gpus       = { 1, 2, 4, 8 },                         -- world sizes
 *         dtypes     = { "bf16" },
 *         shapes     = { "paper", "tiny", { name = "wide", M = 2048, N = 4096 } },
 *         device     = "host",                                 -- "host" or "cuda"
 *         trials     = 5, seed = 1,
 *         inputs     = "hardened",                             -- or "pkb"
 *         tolerance  = "hardened",                             -- or "pkb", or { profile = "pkb", atol = 0.01, rtol = 0.01 }
 *         iterations = { warmup = 500, timed = 100 },
 *         limits     = { seconds = 120, memory_mb = 8192 },    -- per cell: wall clock, address space of a runner
 *         where      = function(cell) return cell.world > 1 end,
 *         time       = function(cell) return 30 end,           -- expected seconds of a cell, for shards; default: an estimate
 *         slurm      = { ... },                                -- kept as it is, for the slurm launcher
 *     }
 *
 * `candidates` and `problems` must be given. The lists are sets: order and repetition mean nothing. Names of problems and models
 * may be patterns ("*gemm*"). A shape of one's own sets the parameters that a problem has; a problem with none of them is left out.
 *
 * `where` and `time` get a table with the fields problem, id, family, model, sample, world, dtype, shape, device. Unknown keys,
 * wrong types and unknown names are errors with file, line, field and a suggestion. docs/sweeps.md is the reference.
 *
 * The sandbox (sweeps/lua.h): no io, os, debug, package, load, dofile, require, pcall, coroutine, metatables, math.random, string.dump,
 * collectgarbage or bytecode; 256 MiB of memory, strings of 1 MiB; 100 million instructions and 10 s of processor time for the
 * file, 100,000 and 1 s for each call of a function.
 */
#ifndef PKB_SWEEPS_SWEEP_H
#define PKB_SWEEPS_SWEEP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "problems/problem.h"
#include "util/error.h"

struct sweep_shape {
    char *name;              /* "paper", "tiny", or the custom name */
    enum problem_shape base; /* values of parameters that are not overridden: paper for a custom shape unless base = "tiny" */
    int n_overrides;
    struct sweep_override {
        char *param;
        double value;
    } * overrides;
};

struct sweep {
    char *path;      /* of the Lua file */
    char *source;    /* its text */
    char digest[65]; /* SHA-256 of it */
    char *name;
    char *candidates; /* the candidate store, absolute */
    const struct problem **problems;
    int n_problems;
    char **models;
    bool *models_named; /* by its own name rather than through a pattern */
    int n_models;
    int *samples;
    int n_samples;
    int *worlds;
    int n_worlds;
    int *dtypes;
    int n_dtypes;
    struct sweep_shape *shapes;
    int n_shapes;
    char *device;
    int trials;
    uint64_t seed;
    enum problem_profile inputs, tolerance;
    double atol, rtol;
    int warmup, iterations;
    double limit_seconds;
    int64_t limit_memory_mb;
    json_t *slurm;            /* object, or NULL */
    bool has_where, has_time; /* call them through sweep_where, sweep_time */
    struct sweep_lua *lua;    /* the state that holds the functions */
};

/* What `where` and `time` are asked about. */
struct sweep_cell {
    const struct problem *problem;
    const char *model, *shape, *device;
    int sample, world, dtype;
};

/* Reads and validates a sweep file. NULL with the error set ("sweep quick.lua: line 4: problems: ..."). */
struct sweep *sweep_load(const char *path, struct pkb_error *err);

/* The same from memory; `path` need not exist, it names the sweep in messages and its folder is where `candidates` begins. */
struct sweep *sweep_load_text(const char *path, const char *text, size_t size, struct pkb_error *err);
void sweep_destroy(struct sweep *s);

/* The verdict of `where` (true without one) and the seconds of `time` (0 without one). An error in the function is an error of
 * the sweep. 0 or -1. */
int sweep_where(struct sweep *s, const struct sweep_cell *cell, bool *keep, struct pkb_error *err);
int sweep_time(struct sweep *s, const struct sweep_cell *cell, double *seconds, struct pkb_error *err);

#endif
