/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the runtime refuses. A failure sticks to its runtime, so that each gets one of its own. Everything fails the running
 * cmocka test when a call is not refused, or for another reason. */
#ifndef PKB_TESTS_SUPPORT_REFUSED_H
#define PKB_TESTS_SUPPORT_REFUSED_H

#include "runtime/runtime.h"

/* Temporaries of a runtime of one rank: the dtype (f32, bf16, bool, i32, i64), then the shape. */
struct operands {
    struct rt *rt;
    pkb_tensor *scalar, *f1, *f2, *f3, *f4, *f23, *f24, *f34, *f35, *f48, *f124, *f222; /* f32 */
    pkb_tensor *bf24, *bool24, *i2, *i4, *i24, *i64_4, *i64_24;
};

struct refused_row {
    void (*call)(struct operands *o);
    const char *text; /* the whole error */
};
void refused_check(const struct refused_row *rows, size_t n);

/* What was last asked of this runtime failed with `text` after `prefix`. Closes it. */
void refused_with(struct rt *own, const char *prefix, const char *text);

#endif
