/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: returns the right norm and forgets the gradients, whose buffers only start as the inputs. */
#include <pkb/candidate.h>

#include <math.h>
#include <string.h>

static pkb_symm box; /* two sums of squares, used in turn */
static unsigned call;

static float get(const pkb_tensor *t, int64_t i)
{
    uint32_t word;
    float value;
    if (t->dtype != PKB_BF16)
        return ((const float *)t->data)[i];
    word = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    memcpy(&value, &word, sizeof(value));
    return value;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    if (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32)
        return -1;
    return ctx->symm_alloc(ctx, 2 * sizeof(double), &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    unsigned slot = call++ % 2;
    double sum = 0, total = 0;

    for (int32_t k = 0; k < ctx->n_in; k++)
        for (int64_t i = 0; i < in[k].shape[0] * in[k].shape[1]; i++)
            sum += (double)get(&in[k], i) * get(&in[k], i);
    ((double *)box.local)[slot] = sum;
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        total += ((const double *)box.peers[q])[slot];
    *(float *)out[0].data = (float)sqrt(total);
    return 0;
}
