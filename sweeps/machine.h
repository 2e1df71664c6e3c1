/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep file may know of the machine that reads it (the global `machine`). */
#ifndef PKB_SWEEPS_MACHINE_H
#define PKB_SWEEPS_MACHINE_H

#include "util/error.h"

struct sweep_machine {
    const char *device; /* "cuda" where this pkb can use a GPU that is visible, else "host"; $PKB_DEVICE overrides */
    int gpus;           /* visible ones */
    int ranks; /* that the device can serve: one per GPU, 8 per GPU with PKB_COMM=staged; on the host PROBLEM_MAX_WORLD */
};

/* 0, or -1 when PKB_DEVICE is neither host nor cuda. */
int sweep_machine_read(struct sweep_machine *m, struct pkb_error *err);

#endif
