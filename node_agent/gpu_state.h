/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one GPU around a measurement: what records keep, and whether what happened was the GPU's fault.
 *
 * An agent reads it through NVML (util/nvml.h); it has no CUDA context. Where NVML is absent the state says so and blames nothing. */
#ifndef PKB_NODE_AGENT_GPU_STATE_H
#define PKB_NODE_AGENT_GPU_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "util/gpu.h"

#define GPU_STATE_XIDS 8

struct gpu_state {
    bool known; /* false: `lost`, or nothing could be asked */
    bool lost;  /* the GPU does not answer any more */
    char why[200];
    unsigned sm_mhz, sm_max_mhz, memory_mhz, celsius, milliwatts; /* 0: not told */
    uint64_t throttle;                                            /* NVML's bits */
    int64_t uncorrected;                                          /* ECC errors since the driver was loaded; -1: not told */
    uint64_t memory_used;
    pid_t foreign; /* a process that computes on it and is none of ours; 0: none */
    int n_xids;    /* driver's error reports since the last look, the first ones */
    int xids[GPU_STATE_XIDS];
};

/* ---- decisions ----------------------------------------------------------------------------------------------------------- */

/* Whether the GPU, not the candidate, is to blame for whatever happened between two looks: lost, an Xid that tells of the hardware
 * or the driver (not those that a faulty kernel causes), new uncorrected ECC errors, somebody else computing on it. The reason
 * goes into `why`. */
bool gpu_state_is_bad(const struct gpu_state *before, const struct gpu_state *after, char *why, size_t size);

/* Xids that no kernel causes. */
bool gpu_xid_is_hardware(int xid);

/* "power cap, thermal slowdown"; "" for nothing that slows down (idle clocks do not). */
void gpu_throttle_describe(uint64_t bits, char *text, size_t size);

json_t *gpu_state_encode(const struct gpu_state *s);

/* ---- looking ----------------------------------------------------------------------------------------------------------- */

struct gpu_watch; /* one GPU */

/* Watches the GPU of a CUDA ordinal. Never fails: where it cannot watch, it says why in every state. The caller destroys it. */
struct gpu_watch *gpu_watch_create(int ordinal);
void gpu_watch_destroy(struct gpu_watch *w);

/* The GPU's UUID; "" where it is not known. */
const char *gpu_watch_uuid(const struct gpu_watch *w);

/* Fills *s. Processes that descend from `ours`, directly or not, are ours; so are those that this machine does not show. */
void gpu_watch_look(struct gpu_watch *w, pid_t ours, struct gpu_state *s);

#endif
