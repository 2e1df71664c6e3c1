/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about the CUDA backend:
 *
 *     PKB_COMM=nccl|staged        collectives through NCCL (default), or through host memory, so that ranks can share a GPU
 *     PKB_COMM_TIMEOUT=SECONDS    how long communication may stand still before it counts as broken; default 300
 *     PKB_SYMM=fd|fabric|ipc      how symmetric memory reaches other processes; default: the first that works
 *     PKB_NVLS=0|1                NVLink multicast. 1: symmetric memory may use it, unless NCCL_NVLS_ENABLE is 0. 0: nobody may, and
 *                                 NCCL is told so. Unset: NCCL does as it does by default, symmetric memory does without
 */
#ifndef PKB_RUNTIME_CUDA_SETTINGS_H
#define PKB_RUNTIME_CUDA_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

enum symm_method { SYMM_FD, SYMM_FABRIC, SYMM_IPC, SYMM_METHODS };

struct cuda_settings {
    bool staged;
    int64_t timeout_ns;
    int symm;         /* enum symm_method, or -1: the first that works */
    bool multicast;   /* of symmetric memory */
    bool forbid_nvls; /* NCCL's */
};

const char *symm_method_name(int method);

/* 0, or -1 with the error set when a variable has a value that it cannot have. `get` is getenv outside tests. */
typedef char *settings_get_fn(const char *name);
int cuda_settings_read(struct cuda_settings *s, settings_get_fn *get, struct pkb_error *err);

#endif
