/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement between all ranks on whether a step has succeeded everywhere. */
#ifndef PKB_RUNTIME_AGREE_H
#define PKB_RUNTIME_AGREE_H

#include "runtime/runtime.h"

/* Collective over the world: exchanges whether each rank has succeeded so far (rc, with `own` set when not 0) and what size it
 * means. 0 when all have succeeded and mean the same size, else -1 with the error of the first rank that has not. `err` may be
 * `own`. */
int rt_agree(const struct rt_options *o, size_t bytes, int rc, const struct pkb_error *own, struct pkb_error *err);

#endif
