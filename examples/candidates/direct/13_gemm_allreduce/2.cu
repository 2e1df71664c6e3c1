/* SPDX-License-Identifier: Apache-2.0 */
/* A tiled product, on tensor cores for bf16, goes to symmetric memory; then every rank sums its own slice of the products
 * over all ranks, and all collect the slices. */
#include <pkb/candidate.h>

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

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

/* First byte of every rank's slice, and the end. */
struct bounds {
    size_t first[MOST_RANKS + 1];
};

static pkb_symm box; /* the partial product, then the sums of this rank's slice at their place in the matrix */
static struct peers everyone;
static size_t bytes; /* of each of the two */

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

#define TILE 64  /* rows and columns of C that a block makes */
#define DEPTH 32 /* of A and B that it holds at a time */

/* Loads a TILE x DEPTH part of A and a DEPTH x TILE part of B; beyond the edges are zeros. */
template <typename T>
__device__ static void load_tiles(T (*a)[DEPTH + 8], T (*b)[TILE + 8], const T *A, const T *B, int m, int n, int k, int top,
                                  int left, int at)
{
    for (int i = threadIdx.x; i < TILE * DEPTH; i += blockDim.x) {
        int row = i / DEPTH, col = i % DEPTH;
        bool inside = top + row < m && at + col < k;
        narrow(inside ? widen(A[(int64_t)(top + row) * k + at + col]) : 0, &a[row][col]);
    }
    for (int i = threadIdx.x; i < DEPTH * TILE; i += blockDim.x) {
        int row = i / TILE, col = i % TILE;
        bool inside = at + row < k && left + col < n;
        narrow(inside ? widen(B[(int64_t)(at + row) * n + left + col]) : 0, &b[row][col]);
    }
}

/* Tensor cores: four warps, each with a 32 x 32 part of the tile. */
__device__ static void multiply(float (*c)[TILE + 4], const __nv_bfloat16 *A, const __nv_bfloat16 *B, int m, int n, int k,
                                int top, int left)
{
    using namespace nvcuda;
    __shared__ __align__(32) __nv_bfloat16 a[TILE][DEPTH + 8], b[DEPTH][TILE + 8];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> part[2][2];
    int row = threadIdx.x / 64 * 32, col = threadIdx.x / 32 % 2 * 32;
    for (int i = 0; i < 4; i++)
        wmma::fill_fragment(part[i / 2][i % 2], 0.0f);
    for (int at = 0; at < k; at += DEPTH) {
        load_tiles(a, b, A, B, m, n, k, top, left, at);
        __syncthreads();
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> x[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> y[2];
            for (int i = 0; i < 2; i++) {
                wmma::load_matrix_sync(x[i], &a[row + 16 * i][d], DEPTH + 8);
                wmma::load_matrix_sync(y[i], &b[d][col + 16 * i], TILE + 8);
            }
            for (int i = 0; i < 4; i++)
                wmma::mma_sync(part[i / 2][i % 2], x[i / 2], y[i % 2], part[i / 2][i % 2]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        wmma::store_matrix_sync(&c[row + 16 * (i / 2)][col + 16 * (i % 2)], part[i / 2][i % 2], TILE + 4, wmma::mem_row_major);
}

/* True f32: every thread has a column and every second row of the tile. */
__device__ static void multiply(float (*c)[TILE + 4], const float *A, const float *B, int m, int n, int k, int top, int left)
{
    __shared__ float a[TILE][DEPTH + 8], b[DEPTH][TILE + 8];
    float part[TILE / 2] = {0};
    int row = threadIdx.x / TILE, col = threadIdx.x % TILE;
    for (int at = 0; at < k; at += DEPTH) {
        load_tiles(a, b, A, B, m, n, k, top, left, at);
        __syncthreads();
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < TILE / 2; i++)
                part[i] += a[2 * i + row][d] * b[d][col];
        __syncthreads();
    }
    for (int i = 0; i < TILE / 2; i++)
        c[2 * i + row][col] = part[i];
}

/* C = A * B, rounded; 128 threads. */
template <typename T> __global__ void product(T *C, const T *A, const T *B, int m, int n, int k)
{
    __shared__ __align__(32) float c[TILE][TILE + 4];
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    multiply(c, A, B, m, n, k, top, left);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE * TILE; i += blockDim.x) {
        int row = top + i / TILE, col = left + i % TILE;
        if (row < m && col < n)
            narrow(c[i / TILE][i % TILE], &C[(int64_t)row * n + col]);
    }
}

static int launch_product(const pkb_context *ctx, const pkb_tensor *in, void *to)
{
    int m = (int)in[0].shape[0], k = (int)in[0].shape[1], n = (int)in[1].shape[1];
    dim3 grid((unsigned)((n + TILE - 1) / TILE), (unsigned)((m + TILE - 1) / TILE));
    cudaStream_t stream = (cudaStream_t)ctx->stream;
    if (in[0].dtype == PKB_BF16)
        product<<<grid, 128, 0, stream>>>((__nv_bfloat16 *)to, (const __nv_bfloat16 *)in[0].data,
                                          (const __nv_bfloat16 *)in[1].data, m, n, k);
    else
        product<<<grid, 128, 0, stream>>>((float *)to, (const float *)in[0].data, (const float *)in[1].data, m, n, k);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}

/* Collects the slices of all ranks; a block row per rank. */
__global__ void gather(char *y, struct peers sums, size_t offset, struct bounds at, bool vectors)
{
    size_t from = at.first[blockIdx.y], to = at.first[blockIdx.y + 1];
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
    size_t end = vectors ? from + (to - from) / 16 * 16 : from;
    const char *x = sums.p[blockIdx.y] + offset;
    for (size_t b = from + i * 16; b < end; b += step * 16)
        *(uint4 *)(y + b) = *(const uint4 *)(x + b);
    for (size_t b = end + i; b < to; b += step)
        y[b] = x[b];
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

/* Slices begin at multiples of 16 bytes. The slice of rank q: elements [first(q), first(q + 1)). */
static int64_t first(const pkb_context *ctx, const pkb_tensor *x, int32_t q)
{
    int64_t per = 16 / (int64_t)item_size(x), n = elements(x), packs = (n + per - 1) / per;
    int64_t at = packs * q / ctx->world * per;
    return at < n ? at : n;
}

static int collect(const pkb_context *ctx, const pkb_tensor *y)
{
    struct bounds at;
    for (int32_t q = 0; q <= ctx->world; q++)
        at.first[q] = (size_t)first(ctx, y, q) * item_size(y);
    dim3 grid(blocks_for(elements(y) / 4 / ctx->world), (unsigned)ctx->world);
    gather<<<grid, THREADS, 0, (cudaStream_t)ctx->stream>>>((char *)y->data, everyone, bytes, at, aligned(y->data, bytes));
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}

extern "C" int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    bytes = round_up((size_t)elements(out) * item_size(out));
    if (!supported(in) || ctx->symm_alloc(ctx, 2 * bytes, &box) != 0)
        return -1;
    return reach(ctx, &box, &everyone);
}

/* The second barrier ends all reading of the products, the next call's first one all reading of the sums. */
extern "C" int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t from = first(ctx, out, ctx->rank), to = first(ctx, out, ctx->rank + 1);
    size_t offset = (size_t)from * item_size(out);
    if (launch_product(ctx, in, box.local) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    if (launch_sum(ctx, out[0].dtype, (char *)box.local + bytes + offset, &everyone, offset, to - from) != 0 ||
        ctx->barrier(ctx) != 0)
        return -1;
    return collect(ctx, out);
}
