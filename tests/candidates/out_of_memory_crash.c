/* SPDX-License-Identifier: Apache-2.0 */
/* Takes memory until there is none, and does not check. */
#include <pkb/candidate.h>
#include <stdlib.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    for (;;) {
        volatile char *p = malloc((size_t)64 << 20);
        *p = 1;
    }
}
