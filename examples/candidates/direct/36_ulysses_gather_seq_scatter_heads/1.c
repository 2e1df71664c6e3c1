/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank stores its heads' rows where their receivers want them: the all-to-all and the transposition are one copy. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box; /* two outputs with all W*S positions, used in turn: one barrier per call is enough */
static size_t whole; /* bytes of one */
static unsigned call;

static size_t item_size(const pkb_tensor *t)
{
    static const size_t sizes[] = {[PKB_BF16] = 2, [PKB_F16] = 2, [PKB_F32] = 4, [PKB_F64] = 8};
    return sizes[t->dtype];
}

/* x is (B, S, nh, hd), the output (B, W*S or fewer, nh / W, hd). */
int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    whole = (size_t)(in[0].shape[0] * in[0].shape[1] * in[0].shape[2] * in[0].shape[3]) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * whole, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t batch = in[0].shape[0], shard = in[0].shape[1], all = shard * ctx->world, kept = out[0].shape[1];
    size_t run = (size_t)(out[0].shape[2] * out[0].shape[3]) * item_size(in); /* bytes of one position's heads for one rank */
    size_t offset = call++ % 2 * whole, width = (size_t)ctx->world * run;

    for (int32_t step = 0; step < ctx->world; step++) {
        int32_t q = (ctx->rank + step) % ctx->world; /* every rank starts with another peer */
        for (int64_t b = 0; b < batch; b++) {
            const char *src = (const char *)in[0].data + (size_t)(b * shard) * width + (size_t)q * run;
            char *dst = (char *)box.peers[q] + offset + (size_t)(b * all + ctx->rank * shard) * run;
            for (int64_t s = 0; s < shard; s++)
                memcpy(dst + (size_t)s * run, src + (size_t)s * width, run);
        }
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t b = 0; b < batch; b++) /* what is behind the kept positions is padding */
        memcpy((char *)out[0].data + (size_t)(b * kept) * run, (const char *)box.local + offset + (size_t)(b * all) * run,
               (size_t)kept * run);
    return 0;
}
