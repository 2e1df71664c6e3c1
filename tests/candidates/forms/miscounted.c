/* SPDX-License-Identifier: Apache-2.0 */
/* For 27 with one rank: right rows, wrong number of them. */
#include <pkb/candidate.h>
#include <string.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    int64_t n = in[0].shape[0] - 1;
    memcpy(out[0].data, in[0].data, (size_t)(in[0].shape[0] * in[0].shape[1]) * 4);
    memcpy(out[1].data, &n, sizeof(n));
    return 0;
}
