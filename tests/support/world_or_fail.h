/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds whose ranks must all succeed: what goes wrong on one of them fails the running cmocka test. */
#ifndef PKB_TESTS_SUPPORT_WORLD_OR_FAIL_H
#define PKB_TESTS_SUPPORT_WORLD_OR_FAIL_H

#include "tests/support/world.h"

#define WORLD_LIMIT 240 /* seconds; machines may be busy */

void world_or_fail(int world, world_fn *fn, void *arg);

/* Ends a world_fn with the condition that does not hold. */
#define WORLD_CHECK(condition)                                                                                                   \
    do {                                                                                                                         \
        if (!(condition))                                                                                                        \
            return pkb_error_set(err, "line %d: %s", __LINE__, #condition);                                                      \
    } while (0)

#endif
