/* SPDX-License-Identifier: Apache-2.0 */
/* FP8 with delayed scaling: a vector x of T goes through e4m3 with one scale, which comes from a history of largest magnitudes.
 * In f32 for every T:
 *     a = max over i of |x[i]|
 *     history'[i] = history[i + 1],   history'[last] = a in bf16
 *     scale = max(max over history', 1e-12) / 448
 *     q[i] = x[i] / scale in e4m3 (fn: no infinity, largest number 448, subnormals from 2^-9), nearest, ties to even
 *     rec[i] = q[i] * scale, rounded to T.
 * A quotient is at most 448 * (1 + 2^-8), which rounds to 448. To send q and the scale and to multiply where they arrive gives
 * the same.
 *
 * Check. The history is exact. A scale that differs in its last bit, as from a multiplication by 1/448, may round a quotient
 * the other way that lies within 1e-5 of the middle between two numbers: there rec may be off by what e4m3 makes of the
 * quotient 1e-5 above and below, times the scale (fp8_ties). Everywhere else it is off by roundings of the product alone.
 *
 * Inputs. x = N(0,1) times 2^-(i mod 12), which reaches the subnormals, and 2^((r + trial) mod 3); elements whose quotient is
 * within 4e-5 of such a middle are drawn again, so that there are no ties. The history is uniform in [0, 8), and in odd trials
 * its oldest entry, which is dropped, is the largest, between 8 and 16; so the scale comes from x or from the history, and
 * sometimes from a wrong entry where that is not dropped. The pkb profile: N(0,1) with its ties, and a history of 1e-8, which
 * never counts.
 */
#ifndef PKB_PROBLEMS_FSDP_ZERO_FP8_H
#define PKB_PROBLEMS_FSDP_ZERO_FP8_H

#include "problems/kit.h"

#define FP8_HISTORY                                                                                                              \
    {                                                                                                                            \
        "hl", 16, 16, true, "entries of the history"                                                                             \
    }

/* A history that is not empty. Serves as problem.supports. */
int fp8_supports(const struct problem_setting *s, struct pkb_error *err);

/* Describes numbers of T and a history, bf16 whatever T is; returns 2. */
int fp8_describe(const struct problem_setting *s, struct problem_tensor *t, const char *name, int64_t elements,
                 const char *history);

/* Fills inputs 0 (x) and 1 (the history). */
void fp8_init(const struct problem_setting *s, struct problem_inputs *set);

/* x on its way: quotient like x, scale a scalar, both f32. */
struct fp8 {
    pkb_tensor *quotient, *scale;
};

/* The history after x, into a tensor of the caller's. */
void fp8_roll(const struct problem_call *c, pkb_tensor *rolled, const pkb_tensor *history, const pkb_tensor *x);

/* The scale of a history that has x in it, and the quotients. */
struct fp8 fp8_scale(const struct problem_call *c, const pkb_tensor *rolled, const pkb_tensor *x);

/* rec, a temporary of T. */
pkb_tensor *fp8_round_trip(const struct problem_call *c, const struct fp8 *f);

/* How far rec may be off for the sake of ties, a temporary f32; 0 almost everywhere. */
pkb_tensor *fp8_ties(const struct problem_call *c, const struct fp8 *f);

#endif
