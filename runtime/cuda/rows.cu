/* SPDX-License-Identifier: Apache-2.0 */
/* Operations along rows. A team of threads, a warp or a block, works on a row. */
#include "runtime/cuda/arithmetic.cuh"
#include "runtime/cuda/element.cuh"

#define WARP 32
#define WARPS (KERNEL_THREADS / WARP)
#define ALL_LANES 0xffffffffu
#define WARP_MOST 1024 /* so many elements of a row are a warp's; longer rows a block's */

/* ---- teams of LANES threads, WARP or KERNEL_THREADS ---------------------------------------------------------------- */

template <int LANES> __device__ __forceinline__ int64_t first_team(void)
{
    return (int64_t)blockIdx.x * (KERNEL_THREADS / LANES) + threadIdx.x / LANES;
}

template <int LANES> __device__ __forceinline__ int64_t team_step(void)
{
    return (int64_t)gridDim.x * (KERNEL_THREADS / LANES);
}

/* The x of all threads of the team joined, for each of them. */
template <int LANES, typename T, typename F> __device__ __forceinline__ T join_team(T x, T *shared, F join)
{
    for (int half = WARP / 2; half > 0; half /= 2)
        x = join(x, __shfl_xor_sync(ALL_LANES, x, half));
    if (LANES == WARP)
        return x;
    __syncthreads(); /* what the call before has left there was read */
    if (threadIdx.x % WARP == 0)
        shared[threadIdx.x / WARP] = x;
    __syncthreads();
    x = shared[0];
    for (int i = 1; i < WARPS; i++)
        x = join(x, shared[i]);
    return x;
}

/* x of the team's threads up to this one, added; *total: of all. */
template <int LANES, typename T> __device__ __forceinline__ T scan_team(T x, T *total, T *shared)
{
    int lane = (int)(threadIdx.x % WARP), warp = (int)(threadIdx.x / WARP);
    for (int step = 1; step < WARP; step *= 2) {
        T y = __shfl_up_sync(ALL_LANES, x, step);
        x = lane >= step ? plus(y, x) : x;
    }
    *total = __shfl_sync(ALL_LANES, x, WARP - 1);
    if (LANES == WARP)
        return x;
    T before = 0, sum = 0;
    __syncthreads();
    if (lane == WARP - 1)
        shared[warp] = x;
    __syncthreads();
    for (int i = 0; i < WARPS; i++) {
        before = i == warp ? sum : before;
        sum = plus(sum, shared[i]);
    }
    *total = sum;
    return plus(before, x);
}

/* ---- softmax ------------------------------------------------------------------------------------------------------- */

/* The sum is in f64: a thread may have thousands of terms, whose f32 sum would be off by more than the result is rounded. */
template <typename T, int LANES>
__global__ void softmax_kernel(struct cuda_array dst, struct cuda_array a, int64_t rows, int64_t length)
{
    __shared__ T shared[WARPS];
    __shared__ double sums[WARPS];
    int lane = (int)(threadIdx.x % LANES);
    for (int64_t row = first_team<LANES>(); row < rows; row += team_step<LANES>()) {
        int64_t start = row * length, end = start + length;
        T most = lowest<T>();
        double sum = 0;
        for (int64_t i = start + lane; i < end; i += LANES)
            most = greater(most, load<T>(a, i));
        most = join_team<LANES>(most, shared, [](T x, T y) { return greater(x, y); });
        for (int64_t i = start + lane; i < end; i += LANES)
            sum += exp(load<T>(a, i) - most);
        sum = join_team<LANES>(sum, sums, [](double x, double y) { return x + y; });
        for (int64_t i = start + lane; i < end; i += LANES)
            store<T>(dst, i, exp(load<T>(a, i) - most) / (T)sum);
    }
}

template <typename T>
static void launch_softmax(struct cuda_array dst, struct cuda_array a, int64_t rows, int64_t length, cudaStream_t stream)
{
    if (length <= WARP_MOST)
        softmax_kernel<T, WARP><<<grid_for(rows, WARPS), KERNEL_THREADS, 0, stream>>>(dst, a, rows, length);
    else
        softmax_kernel<T, KERNEL_THREADS><<<grid_for(rows, 1), KERNEL_THREADS, 0, stream>>>(dst, a, rows, length);
}

cudaError_t kernel_softmax(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array a, int64_t rows, int64_t length,
                           cudaStream_t stream)
{
    if (type == CUDA_F64)
        launch_softmax<double>(dst, a, rows, length, stream);
    else
        launch_softmax<float>(dst, a, rows, length, stream);
    return cudaGetLastError();
}

/* ---- running sums -------------------------------------------------------------------------------------------------- */

/* A team per row and segment, which adds what the segments before it sum up to. */
template <typename T, int LANES>
__global__ void cumsum_kernel(struct cuda_array dst, struct cuda_array a, const T *sums, struct cuda_reduction r)
{
    __shared__ T shared[WARPS];
    int lane = (int)(threadIdx.x % LANES);
    for (int64_t job = first_team<LANES>(); job < r.outer * r.segments; job += team_step<LANES>()) {
        int64_t row = job / r.segments, s = job % r.segments, end = segment_start(r, s + 1);
        T before = 0;
        if (s > 0) {
            for (int64_t k = lane; k < s; k += LANES)
                before = plus(before, sums[row * r.segments + k]);
            before = join_team<LANES>(before, shared, [](T x, T y) { return plus(x, y); });
        }
        for (int64_t k = segment_start(r, s); k < end; k += LANES) {
            bool mine = k + lane < end;
            int64_t at = row * r.length + k + lane;
            T total, x = scan_team<LANES>(mine ? load<T>(a, at) : (T)0, &total, shared);
            if (mine)
                store<T>(dst, at, plus(before, x));
            before = plus(before, total);
        }
    }
}

template <typename T>
static void launch_cumsum(struct cuda_array dst, struct cuda_array a, const T *sums, const struct cuda_reduction *r,
                          cudaStream_t stream)
{
    int64_t jobs = r->outer * r->segments;
    if (r->length <= WARP_MOST)
        cumsum_kernel<T, WARP><<<grid_for(jobs, WARPS), KERNEL_THREADS, 0, stream>>>(dst, a, sums, *r);
    else
        cumsum_kernel<T, KERNEL_THREADS><<<grid_for(jobs, 1), KERNEL_THREADS, 0, stream>>>(dst, a, sums, *r);
}

cudaError_t kernel_cumsum(enum cuda_arithmetic type, struct cuda_array dst, struct cuda_array a, const void *sums,
                          const struct cuda_reduction *r, cudaStream_t stream)
{
    if (type == CUDA_F64)
        launch_cumsum(dst, a, (const double *)sums, r, stream);
    else
        launch_cumsum(dst, a, (const int64_t *)sums, r, stream);
    return cudaGetLastError();
}
