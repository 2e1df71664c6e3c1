/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the CUDA backend on a GPU. Ranks are processes; what they find goes to counters that all of them share. */
#ifndef PKB_TESTS_GPU_GPU_H
#define PKB_TESTS_GPU_GPU_H

#include "runtime/runtime.h"
#include "tests/support/world.h"

/* Counts a check; prints one that failed. */
void gpu_check(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Both backends on one rank, of one world. */
struct gpu_pair {
    struct rt *host, *cuda;
};
int gpu_open_pair(const struct rt_options *o, struct gpu_pair *pair, struct pkb_error *err);
void gpu_close_pair(struct gpu_pair *pair);

/* Runs fn on all ranks of a world and counts one check for its end. PKB_COMM is set to `comm` for it. */
void gpu_world(const char *name, int world, const char *comm, world_raw_fn *fn, void *arg);

/* Contents of a host buffer: random values of about 1, positive ones, small integers; all bit patterns of 16 bits over and over. */
enum gpu_values { VALUES_SIGNED, VALUES_POSITIVE, VALUES_EXACT, VALUES_BITS };
void gpu_values(void *data, int dtype, int64_t n, enum gpu_values kind, uint32_t stream);

/* Compares two host buffers: |a - b| <= absolute + relative * |b|, NaN equals NaN; with both 0 every bit. Counts one check. */
struct gpu_tolerance {
    double relative, absolute;
};
void gpu_compare(const char *what, int dtype, int64_t n, const void *a, const void *b, struct gpu_tolerance tolerance);

/* The groups of tests. */
void test_operations(void);
void test_kernels(void); /* a part of the operations */
void test_collectives(void);
void test_nccl_alone(void);
void test_symmetric(void);
void test_failures(void);
void test_illegal(void); /* a part of the failures */
void test_references(void);

#endif
