/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for more memory than there can be, and says so. */
#include <pkb/candidate.h>
#include <stdlib.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    void *volatile p = malloc((size_t)1 << 46);
    if (!p)
        return 12;
    free(p);
    return 0;
}
