/* SPDX-License-Identifier: Apache-2.0 */
/* For 30 with one rank: doubles what it should leave alone. */
#include <pkb/candidate.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    float *x = out[1].data;
    for (int64_t i = 0; i < in[1].shape[0] * in[1].shape[1]; i++)
        x[i] *= 2;
    return 0;
}
