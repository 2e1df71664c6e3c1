/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to the control socket of its runner. */
#include <pkb/candidate.h>
#include <unistd.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    static const char junk[] = "{{{{ \x01\xff\n";
    (void)!write(3, junk, sizeof(junk));
    return 0;
}
