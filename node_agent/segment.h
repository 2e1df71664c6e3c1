/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the shared memory between an agent and its runners on one rank. Offsets are computed from the setting by both
 * sides with the same function, so none is ever read from memory that a candidate can write.
 *
 * Sets 0..trials-1 are the trials, trials..sets-1 the sets that timed iterations rotate over.
 *
 *   inputs segment       per set: params (PROBLEM_MAX_PARAMS doubles), then every input tensor. Written by the reference runner,
 *                        then sealed (F_SEAL_FUTURE_WRITE), so that a candidate can only read it.
 *   reference results    per set: every output tensor, then an f32 tolerance tensor for each output with CHECK_BOUND, then the
 *                        evidence of own checks
 *   candidate results    slots 0..trials-1 (trials) and trials..trials+samples-1 (sampled iterations), each: forms of the outputs as the
 *                        candidate left them (PROBLEM_MAX_TENSORS pkb_tensor; data is NULL, or not where the candidate replaced the
 *                        buffer), every output tensor, every input tensor after the call
 * Tensors start at multiples of 256 bytes.
 */
#ifndef PKB_NODE_AGENT_SEGMENT_H
#define PKB_NODE_AGENT_SEGMENT_H

#include <stddef.h>

#include "problems/problem.h"
#include "util/error.h"

#define SEGMENT_ALIGN 256
#define SEGMENT_MAX_SETS 10000 /* of trials, timed sets, samples */

struct segment_layout {
    int n_in, n_out, n_evidence, trials, sets, samples;
    struct problem_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS], evidence[PROBLEM_MAX_TENSORS];
    size_t in_bytes[PROBLEM_MAX_TENSORS], out_bytes[PROBLEM_MAX_TENSORS], evidence_bytes[PROBLEM_MAX_TENSORS];
    struct problem_check check[PROBLEM_MAX_TENSORS];
    /* Offsets inside one set or slot, and the stride from one to the next. */
    size_t in_offset[PROBLEM_MAX_TENSORS], in_stride;
    size_t expected_offset[PROBLEM_MAX_TENSORS], tolerance_offset[PROBLEM_MAX_TENSORS], evidence_offset[PROBLEM_MAX_TENSORS],
        expected_stride;
    size_t out_offset[PROBLEM_MAX_TENSORS], after_offset[PROBLEM_MAX_TENSORS], slot_stride;
    size_t inputs_size, expected_size, slots_size; /* whole segments */
};

/* -1 with the error set when the sizes overflow or exceed `limit` bytes together (0: no limit). */
int segment_layout_make(const struct problem_setting *s, int trials, int timed_sets, int samples, size_t limit,
                        struct segment_layout *layout, struct pkb_error *err);

/* Anonymous shared memory (memfd, close-on-exec). */
struct segment {
    int fd;
    void *data;
    size_t size;
};
#define SEGMENT_NONE ((struct segment){.fd = -1})

/* Zero-filled, mapped for reading and writing; its size is fixed for everyone. Pages take memory once they are touched. */
int segment_create(const char *name, size_t size, struct segment *seg, struct pkb_error *err);
/* Maps an inherited descriptor whose size must be at least `size`, and takes it over on success. */
int segment_map(int fd, size_t size, int writable, struct segment *seg, struct pkb_error *err);
/* From now on no new writable mapping can be made and nothing can be written through a descriptor; existing mappings (the
 * agent's) stay writable. */
int segment_seal(struct segment *seg, struct pkb_error *err);
/* Unmaps and closes; NULL and SEGMENT_NONE are fine. */
void segment_destroy(struct segment *seg);

#endif
