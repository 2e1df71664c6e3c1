/* SPDX-License-Identifier: Apache-2.0 */
/* Copy engines: every rank publishes its shard; after one barrier the shards of all ranks are copied without a kernel. */
#include <pkb/candidate.h>

#include <cuda_runtime.h>

static int64_t elements(const pkb_tensor *t)
{
    int64_t n = 1;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

static size_t item_size(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 ? 2 : 4;
}

static bool supported(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 || t->dtype == PKB_F32;
}

#define MOST_RANKS 64

struct peers {
    char *p[MOST_RANKS];
};

/* The blocks of all ranks, for kernels. -1: there are too many, or one is out of reach. */
static int reach(const pkb_context *ctx, const pkb_symm *symm, struct peers *to)
{
    for (int32_t q = 0; q < ctx->world; q++) {
        if (q == MOST_RANKS || !symm->peers[q])
            return -1;
        to->p[q] = (char *)symm->peers[q];
    }
    return 0;
}

static pkb_symm box; /* x twice: the copies are used in turn, so that one barrier per call is enough */
static struct peers everyone;
static size_t bytes; /* of one copy, rounded up */
static unsigned call;

static size_t round_up(size_t n)
{
    return n ? (n + 255) / 256 * 256 : 256;
}

/* Device to device, in the order of the stream; the address says whose memory it is. */
static int copy(const pkb_context *ctx, void *dst, const void *src, size_t bytes)
{
    return cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, (cudaStream_t)ctx->stream) == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    bytes = round_up((size_t)elements(in) * item_size(in));
    if (!supported(in) || ctx->symm_alloc(ctx, 2 * bytes, &box) != 0)
        return -1;
    return reach(ctx, &box, &everyone);
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t size = (size_t)elements(in) * item_size(in), offset = call++ % 2 * bytes;
    if (copy(ctx, (char *)box.local + offset, in[0].data, size) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t k = 0; k < ctx->world; k++) {
        int32_t q = (ctx->rank + k) % ctx->world; /* not all from the same rank at once */
        if (copy(ctx, (char *)out[0].data + (size_t)q * size, everyone.p[q] + offset, size) != 0)
            return -1;
    }
    return 0;
}
