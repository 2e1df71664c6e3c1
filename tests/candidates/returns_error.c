/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up in its third call. */
#include <pkb/candidate.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    static int calls;
    (void)c;
    (void)in;
    (void)out;
    return ++calls == 3 ? 7 : 0;
}
