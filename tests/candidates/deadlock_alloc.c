/* SPDX-License-Identifier: Apache-2.0 */
/* The last rank leaves out a collective allocation. */
#include <pkb/candidate.h>

int pkb_setup(const pkb_context *c, const pkb_tensor *in, const pkb_tensor *out)
{
    pkb_symm symm;
    (void)in;
    (void)out;
    if (c->rank == c->world - 1)
        return c->barrier(c);
    return c->symm_alloc(c, 4096, &symm);
}

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    return 0;
}
