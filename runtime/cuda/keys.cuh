/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of all types as unsigned integers in the order of the numbers, as narrow as the type: -0 equals 0, NaN is last. */
#ifndef PKB_RUNTIME_CUDA_KEYS_CUH
#define PKB_RUNTIME_CUDA_KEYS_CUH

#include "runtime/cuda/element.cuh"

/* Bits of a sign and a magnitude, `width` together; magnitudes above `largest` are NaN. */
__device__ __forceinline__ uint64_t key_of_float(uint64_t bits, int width, uint64_t largest)
{
    uint64_t sign = (uint64_t)1 << (width - 1), magnitude = bits & (sign - 1);
    if (magnitude > largest)
        return sign | (sign - 1);
    return bits & sign ? sign - magnitude : sign + magnitude;
}

__device__ __forceinline__ uint64_t key_of_integer(int64_t x, int width)
{
    return (uint64_t)x + ((uint64_t)1 << (width - 1));
}

__device__ __forceinline__ uint64_t sort_key(const struct cuda_array &a, int64_t i)
{
    switch (a.dtype) {
    case PKB_BF16:
        return key_of_float(((const uint16_t *)a.data)[i], 16, 0x7f80);
    case PKB_F16:
        return key_of_float(((const uint16_t *)a.data)[i], 16, 0x7c00);
    case PKB_F32:
        return key_of_float(((const uint32_t *)a.data)[i], 32, 0x7f800000);
    case PKB_F64:
        return key_of_float(((const uint64_t *)a.data)[i], 64, 0x7ff0000000000000);
    case PKB_FP8_E4M3:
        return key_of_float(((const uint8_t *)a.data)[i], 8, 0x7e);
    case PKB_I32:
        return key_of_integer(((const int32_t *)a.data)[i], 32);
    case PKB_I64:
        return key_of_integer(((const int64_t *)a.data)[i], 64);
    case PKB_U8:
        return ((const uint8_t *)a.data)[i];
    default: /* PKB_BOOL */
        return ((const uint8_t *)a.data)[i] != 0;
    }
}

#endif
