/* SPDX-License-Identifier: Apache-2.0 */
/* For 27: every rank publishes its rows and its splits, and takes what is its own. Leaves rows that do not count as they are. */
#include <pkb/candidate.h>
#include <string.h>

static pkb_symm rows[2], splits[2];
static unsigned turn;

static size_t row_bytes(const pkb_tensor *x)
{
    return (size_t)x->shape[1] * 4;
}

int pkb_setup(const pkb_context *c, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    for (int i = 0; i < 2; i++)
        if (c->symm_alloc(c, (size_t)in[0].shape[0] * row_bytes(&in[0]), &rows[i]) != 0 ||
            c->symm_alloc(c, (size_t)c->world * 8, &splits[i]) != 0)
            return -1;
    return 0;
}

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    int t = (int)(turn++ % 2);
    size_t width = row_bytes(&in[0]);
    int64_t done = 0;
    memcpy(rows[t].local, in[0].data, (size_t)in[0].shape[0] * width);
    memcpy(splits[t].local, in[1].data, (size_t)c->world * 8);
    if (c->barrier(c) != 0)
        return -1;
    for (int q = 0; q < c->world; q++) {
        const int64_t *of_peer = splits[t].peers[q];
        int64_t first = 0;
        for (int d = 0; d < c->rank; d++)
            first += of_peer[d];
        if (of_peer[c->rank] != ((const int64_t *)in[2].data)[q])
            return 1;
        memcpy((char *)out[0].data + (size_t)done * width, (char *)rows[t].peers[q] + (size_t)first * width,
               (size_t)of_peer[c->rank] * width);
        done += of_peer[c->rank];
    }
    memcpy(out[1].data, &done, sizeof(done));
    return 0;
}
