/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to address 0. */
#include <pkb/candidate.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    *(volatile int *)0 = 1;
    return 0;
}
