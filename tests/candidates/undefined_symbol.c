/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that no library has. */
#include <pkb/candidate.h>

extern int no_such_function(void);

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    return no_such_function();
}
