/* SPDX-License-Identifier: Apache-2.0 */
/* Push: every rank stores each row block to the rank that it belongs to, 16 bytes at a time; after one barrier each adds up
 * what has arrived. */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
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

static pkb_symm box; /* twice a row block from every rank: used in turn, so that one barrier per call is enough */
static struct peers everyone;
static size_t bytes; /* of a row block, rounded up */
static unsigned call;

static size_t round_up(size_t n)
{
    return n ? (n + 255) / 256 * 256 : 256;
}

__device__ static float widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

__device__ static float widen(float x)
{
    return x;
}

__device__ static void narrow(float x, __nv_bfloat16 *to)
{
    *to = __float2bfloat16_rn(x);
}

__device__ static void narrow(float x, float *to)
{
    *to = x;
}

/* 16 bytes, which one instruction moves. */
template <typename T> union pack {
    uint4 word;
    T x[16 / sizeof(T)];
};

/* y[i] = sum over the ranks of their x[i], which lies `offset` bytes into their blocks. */
template <typename T> __global__ void sum(T *y, struct peers x, size_t offset, int world, int64_t n, bool vectors)
{
    constexpr int PER = 16 / sizeof(T);
    int64_t first = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, step = gridDim.x * (int64_t)blockDim.x;
    int64_t packs = vectors ? n / PER : 0;
    for (int64_t v = first; v < packs; v += step) {
        float total[PER] = {0};
        union pack<T> part;
        for (int q = 0; q < world; q++) {
            part.word = ((const uint4 *)(x.p[q] + offset))[v];
            for (int k = 0; k < PER; k++)
                total[k] += widen(part.x[k]);
        }
        for (int k = 0; k < PER; k++)
            narrow(total[k], &part.x[k]);
        ((uint4 *)y)[v] = part.word;
    }
    for (int64_t i = packs * PER + first; i < n; i += step) {
        float total = 0;
        for (int q = 0; q < world; q++)
            total += widen(((const T *)(x.p[q] + offset))[i]);
        narrow(total, &y[i]);
    }
}

/* One block row moves `size` bytes. */
__device__ static void move(char *y, const char *x, size_t size, bool vectors)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
    size_t packs = vectors ? size / 16 : 0;
    for (size_t v = i; v < packs; v += step)
        ((uint4 *)y)[v] = ((const uint4 *)x)[v];
    for (size_t b = packs * 16 + i; b < size; b += step)
        y[b] = x[b];
}

/* A block row per rank stores that rank's part, `pitch` bytes after the one before. */
__global__ void push(struct peers to, size_t offset, const char *x, size_t pitch, size_t size, bool vectors)
{
    move(to.p[blockIdx.y] + offset, x + blockIdx.y * pitch, size, vectors);
}

#define THREADS 256
#define MOST_BLOCKS 1024

static unsigned blocks_for(int64_t n)
{
    int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks);
}

static bool aligned(const void *a, size_t b)
{
    return ((uintptr_t)a | b) % 16 == 0;
}

static int launch_sum(const pkb_context *ctx, int dtype, void *y, const struct peers *x, size_t offset, int64_t n)
{
    cudaStream_t stream = (cudaStream_t)ctx->stream;
    bool vectors = aligned(y, offset);
    unsigned blocks = blocks_for(vectors ? n / 4 : n);
    if (dtype == PKB_BF16)
        sum<<<blocks, THREADS, 0, stream>>>((__nv_bfloat16 *)y, *x, offset, ctx->world, n, vectors);
    else
        sum<<<blocks, THREADS, 0, stream>>>((float *)y, *x, offset, ctx->world, n, vectors);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}

/* Adds up the row blocks of all ranks that have arrived here, as if they were peers' blocks. */
static int sum_arrived(const pkb_context *ctx, size_t half, pkb_tensor *out)
{
    struct peers parts;
    for (int32_t q = 0; q < ctx->world; q++)
        parts.p[q] = (char *)box.local + half + (size_t)q * bytes;
    return launch_sum(ctx, out->dtype, out->data, &parts, 0, elements(out));
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    bytes = round_up((size_t)elements(out) * item_size(out));
    if (!supported(in) || ctx->symm_alloc(ctx, 2 * (size_t)ctx->world * bytes, &box) != 0)
        return -1;
    return reach(ctx, &box, &everyone);
}

extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t size = (size_t)elements(out) * item_size(out), half = call++ % 2 * (size_t)ctx->world * bytes;
    dim3 grid(blocks_for((int64_t)size / 16), (unsigned)ctx->world);
    const char *x = (const char *)in[0].data;
    push<<<grid, THREADS, 0, (cudaStream_t)ctx->stream>>>(everyone, half + (size_t)ctx->rank * bytes, x, size, size,
                                                          aligned(x, size));
    if (cudaGetLastError() != cudaSuccess || ctx->barrier(ctx) != 0)
        return -1;
    return sum_arrived(ctx, half, out);
}
