/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution operands as matrices. */
#include "runtime/cuda/element.cuh"
#include "runtime/cuda/walk.cuh"

#define CHUNK (8 * KERNEL_THREADS) /* positions of one row of the matrix that a block fills at a time */

template <typename E> __global__ void im2col_kernel(E *dst, const E *src, struct cuda_windows w, int64_t chunks)
{
    int64_t taps = w.kernel[0] * w.kernel[1] * w.kernel[2], positions = w.out[0] * w.out[1] * w.out[2];
    for (int64_t job = blockIdx.x; job < w.volumes * taps * chunks; job += gridDim.x) {
        int64_t row = job / chunks, first = job % chunks * CHUNK, volume = row / taps, tap = row % taps;
        int64_t last = first + CHUNK < positions ? first + CHUNK : positions;
        const E *from = src + volume * w.size[0] * w.size[1] * w.size[2];
        int64_t shift0 = tap / w.kernel[2] / w.kernel[1] * w.dilation[0] - w.pad[0];
        int64_t shift1 = tap / w.kernel[2] % w.kernel[1] * w.dilation[1] - w.pad[1];
        int64_t shift2 = tap % w.kernel[2] * w.dilation[2] - w.pad[2];
        for (int64_t p = first + threadIdx.x; p < last; p += blockDim.x) {
            int64_t line = quotient(p, w.out[2]), plane = quotient(line, w.out[1]);
            int64_t x0 = plane * w.stride[0] + shift0, x1 = (line - plane * w.out[1]) * w.stride[1] + shift1;
            int64_t x2 = (p - line * w.out[2]) * w.stride[2] + shift2;
            bool inside = x0 >= 0 && x0 < w.size[0] && x1 >= 0 && x1 < w.size[1] && x2 >= 0 && x2 < w.size[2];
            dst[row * positions + p] = inside ? from[(x0 * w.size[1] + x1) * w.size[2] + x2] : (E)0;
        }
    }
}

cudaError_t kernel_im2col(void *dst, const void *src, int size, const struct cuda_windows *w, cudaStream_t stream)
{
    int64_t taps = w->kernel[0] * w->kernel[1] * w->kernel[2];
    int64_t chunks = (w->out[0] * w->out[1] * w->out[2] + CHUNK - 1) / CHUNK;
    unsigned grid = grid_for(w->volumes * taps * chunks, 1);
    FOR_WORD(size, (im2col_kernel<<<grid, KERNEL_THREADS, 0, stream>>>((W *)dst, (const W *)src, *w, chunks)));
    return cudaGetLastError();
}
