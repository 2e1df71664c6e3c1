/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011). Every value is a function of (problem, seed, trial, rank, tensor, index) alone, so host and device produce the same
 * bits in any order and any element can be made without the others.
 *
 * Layout. key = two 32-bit words from SplitMix64-style mixing of (problem, seed, trial); counter = {block index low, block
 * index high, rank, tensor}. Element i takes word i%4 of block i/4 (32-bit draws), or words 2*(i%2), 2*(i%2)+1 of block i/2
 * (64-bit draws and normals). The definitions below are the contract that the CUDA backend reproduces bit for bit; they use only
 * correctly rounded operations and, for normals, a fixed polynomial evaluation instead of libm.
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
double rng_normal(const struct rng *r, uint64_t index);  /* N(0, 1), |x| < 8.7 */
int64_t rng_integer(const struct rng *r, uint64_t index, int64_t low,
                    int64_t high); /* low <= x < high, unbiased to 2^-32 of a range
                                                                                       below 2^32 */

/* n elements from index 0 on, rounded once to `dtype` (runtime/dtype.h). */
void rng_fill_uniform(const struct rng *r, int dtype, void *dst, size_t n, double low, double high);
void rng_fill_normal(const struct rng *r, int dtype, void *dst, size_t n);
void rng_fill_integers(const struct rng *r, int dtype, void *dst, size_t n, int64_t low, int64_t high);

/* A uniformly random permutation of 0..n-1 (Fisher-Yates over rng_integer). */
void rng_permutation(const struct rng *r, int64_t *dst, size_t n);

#endif
