/* SPDX-License-Identifier: Apache-2.0 */
/* For 30 with one rank, where nothing is to be done: complains unless every output holds its input's values at every call. */
#include <pkb/candidate.h>
#include <string.h>

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    for (int i = 0; i < c->n_out; i++) {
        size_t bytes = (size_t)(in[i].shape[0] * in[i].shape[1]) * 4;
        if (in[i].data == out[i].data)
            return 2;
        if (memcmp(out[i].data, in[i].data, bytes) != 0)
            return 1;
    }
    return 0;
}
