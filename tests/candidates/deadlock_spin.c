/* SPDX-License-Identifier: Apache-2.0 */
/* The last rank waits for a flag that nobody sets. */
#include <pkb/candidate.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    static volatile int flag;
    (void)in;
    (void)out;
    while (c->rank == c->world - 1 && !flag)
        ;
    return c->barrier(c);
}
