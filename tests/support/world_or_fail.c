/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/world_or_fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void world_or_fail(int world, world_fn *fn, void *arg)
{
    struct pkb_error err = {""};
    if (world_run(world, WORLD_LIMIT, fn, arg, &err))
        fail_msg("world %d: %s", world, err.text);
}
