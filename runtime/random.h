/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). Every value is a function of (problem, seed, trial, rank, tensor, index) alone, so host and device produce the same
 * bits in any order and any element can be made without the others.
 *
 * Layout. The key is mix(seed ^ mix((problem << 32 | trial) + 0x9e3779b97f4a7c15)), low word first, where mix is the finaliser of
 * SplitMix64; counter = {block index low, block index high, rank, tensor}. Element i takes the 64 bits w of words 2 * (i % 2) (low)
 * and 2 * (i % 2) + 1 (high) of block i / 2:
 *     uniform   (w >> 11) 2^-53
 *     integer   low + ((w * (high - low)) >> 64)
 *     normal    the inverse distribution function of ((w >> 12) + 1/2) 2^-52 by Wichura's algorithm AS 241 (PPND16) in f64, with
 *               the logarithm of random.c
 * These are the contract that the CUDA backend reproduces bit for bit: additions, multiplications, divisions and square roots in
 * the order of random.c, each rounded once, never contracted, no libm.
 */
#ifndef PKB_RUNTIME_RANDOM_H
#define PKB_RUNTIME_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Rank of a stream that is the same on all ranks. */
#define RNG_ALL_RANKS 0xffffffffu

struct rng {
    uint32_t key[2];
    uint32_t rank, tensor;
};

struct rng rng_make(uint32_t problem, uint64_t seed, uint32_t trial, uint32_t rank, uint32_t tensor);

/* One Philox4x32-10 block: out = philox(counter, key). */
void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Single elements. */
double rng_uniform(const struct rng *r, uint64_t index); /* [0, 1), multiples of 2^-53 */
double rng_normal(const struct rng *r, uint64_t index);  /* N(0, 1), |x| < 8.3 */

/* low <= x < high; a range of n numbers is uniform up to n 2^-64. */
int64_t rng_integer(const struct rng *r, uint64_t index, int64_t low, int64_t high);

/* n elements from index 0 on, rounded once to `dtype` (runtime/dtype.h), which may give `high` itself. */
void rng_fill_uniform(const struct rng *r, int dtype, void *dst, size_t n, double low, double high);
void rng_fill_normal(const struct rng *r, int dtype, void *dst, size_t n);
void rng_fill_integers(const struct rng *r, int dtype, void *dst, size_t n, int64_t low, int64_t high);

/* A uniformly random permutation of 0..n-1 (Fisher-Yates over rng_integer). */
void rng_permutation(const struct rng *r, int64_t *dst, size_t n);

#endif
