/* SPDX-License-Identifier: Apache-2.0 */
/* A syntax error. */
#include <pkb/candidate.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    return 0
}
