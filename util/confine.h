/* SPDX-License-Identifier: Apache-2.0 */
/* Takes rights away from the calling process and all that it starts, for good, by Landlock (Linux 5.13 and later). No privilege is needed,
 * and root has no way around it either. Reading and executing files stay allowed. */
#ifndef PKB_UTIL_CONFINE_H
#define PKB_UTIL_CONFINE_H

#include <stddef.h>

#include "util/error.h"

/* The version of the kernel's interface; 0: it has none. 6 and later confine signals too. */
int confine_version(void);

/* From here on, files can be written, made, removed and renamed below these folders only (no device files), and devices that are there
 * can be written; other processes can neither be traced nor, from version 6 on, be sent signals. Folders that do not exist are left out.
 * Holds for the calling thread and what it starts: call it before there are others. 0; 1: the kernel cannot; -1 with the error set. */
int confine_process(const char *const *folders, size_t n, struct pkb_error *err);

#endif
