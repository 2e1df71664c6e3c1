/* SPDX-License-Identifier: Apache-2.0 */
/* Rearrangements. */
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"

template <typename E> __global__ void gather_kernel(E *dst, const E *a, struct cuda_walk walk)
{
    for (int64_t i = first_element(); i < walk.n; i += element_step()) {
        int64_t x, unused;
        places(walk, i, &x, &unused);
        dst[i] = a[x];
    }
}

/* Where neighbours of the source become strangers, tiles go through shared memory, so that both sides are accessed in runs. The
 * source's innermost dimension is dimension `inner` of the destination. */
#define TILE 32
#define TILE_STEP (KERNEL_THREADS / TILE)

struct tiling {
    int64_t n_inner, n_last;         /* extents: of the source's innermost dimension, of the destination's */
    int64_t tiles_inner, tiles_last; /* tiles along them */
    int64_t dst_step, src_step; /* from one index of the source's innermost to the next in dst; of the destination's in src */
    int64_t others;             /* products of the other extents */
    struct cuda_walk walk;      /* over them: strides a in the source, b in the destination */
};

template <typename E> __global__ void tile_kernel(E *dst, const E *a, struct tiling t)
{
    __shared__ E tile[TILE][TILE + 1];
    for (int64_t job = blockIdx.x; job < t.others * t.tiles_inner * t.tiles_last; job += gridDim.x) {
        int64_t rest = job / t.tiles_last, i0 = rest % t.tiles_inner * TILE, j0 = job % t.tiles_last * TILE, from, to;
        places(t.walk, rest / t.tiles_inner, &from, &to);
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_STEP) {
            int64_t i = i0 + threadIdx.x, j = j0 + k;
            if (i < t.n_inner && j < t.n_last)
                tile[k][threadIdx.x] = a[from + i + j * t.src_step];
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_STEP) {
            int64_t i = i0 + k, j = j0 + threadIdx.x;
            if (i < t.n_inner && j < t.n_last)
                dst[to + j + i * t.dst_step] = tile[threadIdx.x][k];
        }
    }
}

/* Fills *t when there is a dimension, not the last one, along which the source is contiguous. */
static bool plan_tiles(const struct cuda_walk *w, struct tiling *t)
{
    int inner = 0, last = w->ndim - 1;
    int64_t step = 1;
    while (inner < last && w->a[inner] != 1)
        inner++;
    if (inner >= last || w->shape[inner] < TILE / 2 || w->shape[last] < TILE / 2)
        return false;
    *t = (struct tiling){};
    t->n_inner = w->shape[inner];
    t->n_last = w->shape[last];
    t->tiles_inner = (t->n_inner + TILE - 1) / TILE;
    t->tiles_last = (t->n_last + TILE - 1) / TILE;
    t->src_step = w->a[last];
    t->others = w->n / (t->n_inner * t->n_last);
    t->walk.n = t->others;
    t->walk.ndim = w->ndim - 2;
    for (int i = last, k = w->ndim - 3; i >= 0; i--) {
        if (i == inner)
            t->dst_step = step;
        if (i != inner && i != last) {
            t->walk.shape[k] = w->shape[i];
            t->walk.a[k] = w->a[i];
            t->walk.b[k--] = step;
        }
        step *= w->shape[i];
    }
    return true;
}

template <typename E> static void launch_gather(E *dst, const E *a, const struct cuda_walk *walk, cudaStream_t stream)
{
    struct tiling t;
    if (plan_tiles(walk, &t))
        tile_kernel<<<grid_for(t.others * t.tiles_inner * t.tiles_last, 1), dim3(TILE, TILE_STEP), 0, stream>>>(dst, a, t);
    else
        gather_kernel<<<grid_for(walk->n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(dst, a, *walk);
}

#define WIDEST 8 /* bytes of an element that kernels move */

/* Whether `factor` elements that are neighbours in the destination are so in the source, everywhere. */
static bool can_join(const struct cuda_walk *w, int64_t factor)
{
    int last = w->ndim - 1;
    bool joins = w->a[last] == 1 && w->shape[last] % factor == 0;
    for (int i = 0; i < last; i++)
        joins = joins && w->a[i] % factor == 0;
    return joins;
}

/* Makes elements as wide as runs and addresses allow (complex numbers, heads of narrow types): fewer and wider accesses. Returns their
 * size. */
static int widen(struct cuda_walk *w, const void *dst, const void *a, int size)
{
    uintptr_t addresses = (uintptr_t)dst | (uintptr_t)a;
    int64_t factor = WIDEST / size;
    while (factor > 1 && (w->ndim == 0 || addresses % (uintptr_t)(factor * size) != 0 || !can_join(w, factor)))
        factor /= 2;
    if (factor <= 1)
        return size;
    for (int i = 0; i < w->ndim - 1; i++)
        w->a[i] /= factor;
    w->shape[w->ndim - 1] /= factor;
    w->n /= factor;
    w->ndim -= w->shape[w->ndim - 1] == 1;
    return (int)(factor * size);
}

cudaError_t kernel_gather(void *dst, const void *a, int size, const struct cuda_walk *walk, cudaStream_t stream)
{
    struct cuda_walk wide = *walk;
    size = widen(&wide, dst, a, size);
    FOR_WORD(size, launch_gather((W *)dst, (const W *)a, &wide, stream));
    return cudaGetLastError();
}

/* ---- rectangles ---------------------------------------------------------------------------------------------------- */

/* In elements of type E. */
template <typename E> __global__ void copy2d_kernel(E *dst, const E *src, struct cuda_rectangle r)
{
    int64_t width = (int64_t)r.width, n = (int64_t)r.rows * width;
    for (int64_t i = first_element(); i < n; i += element_step()) {
        int64_t row = quotient(i, width), column = i - row * width;
        dst[row * (int64_t)r.dst_pitch + column] = src[row * (int64_t)r.src_pitch + column];
    }
}

/* The widest element that addresses and sizes are multiples of. */
static int element_of(const void *dst, const void *src, const struct cuda_rectangle *r)
{
    size_t all = (size_t)dst | (size_t)src | r->width | r->dst_pitch | r->src_pitch;
    int size = WIDEST;
    while (all % (size_t)size != 0)
        size /= 2;
    return size;
}

cudaError_t kernel_copy2d(void *dst, const void *src, struct cuda_rectangle r, cudaStream_t stream)
{
    int size = element_of(dst, src, &r);
    r.width /= (size_t)size;
    r.dst_pitch /= (size_t)size;
    r.src_pitch /= (size_t)size;
    unsigned grid = grid_for((int64_t)(r.rows * r.width), KERNEL_THREADS);
    FOR_WORD(size, (copy2d_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((W *)dst, (const W *)src, r)));
    return cudaGetLastError();
}
