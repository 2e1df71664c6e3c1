/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that CUDA programs started from here would see, without starting CUDA: NVML's devices in the order of
 * CUDA_VISIBLE_DEVICES (CUDA_DEVICE_ORDER=PCI_BUS_ID is assumed, and set for runners). */
#ifndef PKB_UTIL_GPU_H
#define PKB_UTIL_GPU_H

#include "util/error.h"
#include "util/nvml.h"

#define GPU_MAX 64
#define GPU_UUID 96

struct gpu {
    char uuid[GPU_UUID];
    nvml_device device;
};

struct gpu_list {
    int n;
    struct gpu gpu[GPU_MAX]; /* by CUDA ordinal */
};

/* Fills the list by the rules of CUDA_VISIBLE_DEVICES (`visible`; NULL: not set): numbers, UUIDs or beginnings of UUIDs, up to the
 * first entry that names no device; an entry that is there twice leaves no device at all. */
int gpu_list_visible(const struct nvml *nvml, const char *visible, struct gpu_list *list, struct pkb_error *err);

/* How many there are; 0 where there is no driver. */
int gpu_count(void);

/* Compute capability of the visible GPUs as numbers like 90, one of each kind, ascending. Returns how many; 0: none. */
int gpu_capabilities(int *list, int size);

#endif
