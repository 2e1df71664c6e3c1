/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of single elements, the same on the host and, compiled by nvcc, on the device: sums of integer operations and of
 * correctly rounded conversions, so that both give the same bits. The rules are in runtime/dtype.h. */
#ifndef PKB_RUNTIME_ELEMENT_H
#define PKB_RUNTIME_ELEMENT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define ELEMENT static __host__ __device__ __forceinline__
#else
#define ELEMENT static inline
#endif

ELEMENT uint32_t bits_of_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

ELEMENT float f32_of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* ---- f32 to and from the narrow floating types --------------------------------------------------------------------- */

ELEMENT uint16_t bf16_of_f32(float x)
{
    uint32_t u = bits_of_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t nan = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

ELEMENT float f32_of_bf16(uint16_t h)
{
    return f32_of_bits((uint32_t)h << 16);
}

/* Keeps the top bits of a significand after dropping `shift` (1..31) of them, to nearest, ties to even. */
ELEMENT uint32_t round_shift(uint32_t value, unsigned shift)
{
    uint32_t half = 1u << (shift - 1);
    return (value + half - 1u + ((value >> shift) & 1u)) >> shift;
}

/* A narrow float of `mant` fraction bits and exponent bias `bias`: the magnitude bits of |x|, for finite |x|, without any check
 * against the largest value. Subnormals share the unit 2^(1 - bias - mant). */
ELEMENT uint32_t narrow(uint32_t magnitude, unsigned mant, unsigned bias)
{
    int exponent = (int)(magnitude >> 23) - 127 + (int)bias;
    uint32_t fraction = magnitude & 0x7fffffu;
    if (exponent > 0)
        return round_shift((uint32_t)exponent << 23 | fraction, 23 - mant);
    if (exponent < -(int)mant)
        return 0; /* below half the smallest subnormal */
    return round_shift(fraction | 0x800000u, (unsigned)(24 - exponent) - mant);
}

ELEMENT uint16_t f16_of_f32(float x)
{
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffffu, sign = (u >> 16) & 0x8000u, h;
    if (magnitude > 0x7f800000u)
        h = 0x7e00u | ((magnitude >> 13) & 0x1ffu);
    else if (magnitude >= 0x47800000u) /* 65536 */
        h = 0x7c00u;
    else
        h = narrow(magnitude, 10, 15); /* 65520 and more carry into infinity */
    return (uint16_t)(sign | h);
}

ELEMENT float f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    exponent = exponent == 31 ? 255 : exponent + 127 - 15;
    return f32_of_bits(sign | exponent << 23 | fraction << 13);
}

ELEMENT uint8_t e4m3_of_f32(float x)
{
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffffu, sign = (u >> 24) & 0x80u, e;
    if (magnitude >= 0x43f00000u) /* 480, where the code of NaN is; infinity and NaN too */
        e = 0x7fu;
    else
        e = narrow(magnitude, 3, 7); /* above 464 rounds to the code of NaN */
    return (uint8_t)(sign | e);
}

ELEMENT float f32_of_e4m3(uint8_t e)
{
    uint32_t sign = (uint32_t)(e & 0x80u) << 24, exponent = (e >> 3) & 0xfu, fraction = e & 7u;
    if ((e & 0x7fu) == 0x7fu)
        return f32_of_bits(sign | 0x7fc00000u);
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-9f;
        return sign ? -f : f;
    }
    return f32_of_bits(sign | (exponent + 120) << 23 | fraction << 20);
}

/* ---- f64 and i64 --------------------------------------------------------------------------------------------------- */

/* Rounds to odd: the value towards zero, with the last bit set when anything was lost. A second rounding to a format that is at least
 * two bits narrower then gives what one rounding would have given. */
ELEMENT float odd_f32_of_f64(double x)
{
    float f = (float)x;
    if ((double)f == x || isnan(x))
        return f;
    uint32_t u = bits_of_f32(f);
    if (fabs((double)f) > fabs(x))
        u -= 1;
    return f32_of_bits(u | 1u);
}

/* Leading zero bits; x is not 0. */
ELEMENT int leading_zeros(uint64_t x)
{
#ifdef __CUDA_ARCH__
    return __clzll((long long)x);
#else
    return __builtin_clzll(x);
#endif
}

ELEMENT float odd_f32_of_i64(int64_t x)
{
    uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    int lost = 64 - 24 - (magnitude ? leading_zeros(magnitude) : 63);
    if (lost > 0) {
        uint64_t rest = magnitude & ((1ull << lost) - 1);
        magnitude = (magnitude - rest) | (rest ? 1ull << lost : 0);
    }
    float f = (float)magnitude;
    return x < 0 ? -f : f;
}

ELEMENT int64_t i64_of_f64(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

ELEMENT int32_t i32_of_i64(int64_t x)
{
    return (int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

ELEMENT uint8_t u8_of_i64(int64_t x)
{
    return (uint8_t)(x > UINT8_MAX ? UINT8_MAX : x < 0 ? 0 : x);
}

#undef ELEMENT

#endif
