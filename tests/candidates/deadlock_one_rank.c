/* SPDX-License-Identifier: Apache-2.0 */
/* The last rank never arrives at the barrier. */
#include <pkb/candidate.h>
#include <unistd.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)in;
    (void)out;
    while (c->rank == c->world - 1)
        pause();
    return c->barrier(c);
}
