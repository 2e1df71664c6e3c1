/* SPDX-License-Identifier: Apache-2.0 */
/* Selections and counting arrays. */
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"

template <typename E>
__global__ void where_kernel(E *dst, struct cuda_array condition, const E *a, const E *b, struct cuda_walk walk)
{
    for (int64_t i = first_element(); i < walk.n; i += element_step()) {
        int64_t x, y, z;
        places(walk, i, &x, &y, &z);
        dst[i] = load<double>(condition, z) != 0 ? a[x] : b[y]; /* a double is 0 when the number that it came from is */
    }
}

template <typename E> __device__ __forceinline__ struct group_of<E> pick_group(const E *a, int64_t at, int64_t stride) {
    if (stride == 1)
        return *(const struct group_of<E> *)(a + at);
    struct group_of<E> g;
#pragma unroll
    for (int k = 0; k < GROUP; k++)
        g.e[k] = a[at];
    return g;
}

/* Groups lie within one row of the innermost dimension. */
template <typename E>
__global__ void where_group_kernel(E *dst, struct cuda_array condition, const E *a, const E *b, struct cuda_walk walk)
{
    int last = walk.ndim - 1;
    for (int64_t i = GROUP * first_element(); i < walk.n; i += GROUP * element_step()) {
        double flags[1][GROUP];
        int64_t x, y, z[1];
        places(walk, i, &x, &y, &z[0]);
        if (walk.c[last] == 1) {
            load_groups<double, 1>(condition, z, flags);
        } else {
            double flag = load<double>(condition, z[0]);
#pragma unroll
            for (int k = 0; k < GROUP; k++)
                flags[0][k] = flag;
        }
        struct group_of<E> yes = pick_group(a, x, walk.a[last]), no = pick_group(b, y, walk.b[last]);
#pragma unroll
        for (int k = 0; k < GROUP; k++)
            yes.e[k] = flags[0][k] != 0 ? yes.e[k] : no.e[k];
        *(struct group_of<E> *)(dst + i) = yes;
    }
}

template <typename E>
static void launch_where(struct cuda_array dst, struct cuda_array condition, struct cuda_array a, struct cuda_array b,
                         const struct cuda_walk *w, cudaStream_t stream)
{
    E *to = (E *)dst.data;
    const E *x = (const E *)a.data, *y = (const E *)b.data;
    int ndim = w->ndim;
    bool groups = ndim > 0 && w->shape[ndim - 1] % GROUP == 0 && starts_group(dst) && in_groups(a, ndim, w->a) &&
                  in_groups(b, ndim, w->b) && in_groups(condition, ndim, w->c);
    if (groups)
        where_group_kernel<<<grid_for(w->n, GROUP * KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(to, condition, x, y, *w);
    else
        where_kernel<<<grid_for(w->n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(to, condition, x, y, *w);
}

cudaError_t kernel_where(struct cuda_array dst, struct cuda_array condition, struct cuda_array a, struct cuda_array b,
                         const struct cuda_walk *walk, cudaStream_t stream)
{
    FOR_WORD(element_size(dst.dtype), launch_where<W>(dst, condition, a, b, walk, stream));
    return cudaGetLastError();
}

/* In f64 for floating types, so that one rounding is left, and in wrapping integers. */
__global__ void iota_kernel(struct cuda_array dst, double first, double step, int64_t n, bool integer)
{
    for (int64_t i = first_element(); i < n; i += element_step()) {
        if (integer)
            store<int64_t>(dst, i, (int64_t)((uint64_t)(int64_t)first + (uint64_t)(int64_t)step * (uint64_t)i));
        else
            store<double>(dst, i, first + step * (double)i);
    }
}

cudaError_t kernel_iota(struct cuda_array dst, double first, double step, bool integer, int64_t n, cudaStream_t stream)
{
    iota_kernel<<<grid_for(n, KERNEL_THREADS), KERNEL_THREADS, 0, stream>>>(dst, first, step, n, integer);
    return cudaGetLastError();
}
