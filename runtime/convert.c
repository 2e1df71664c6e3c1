/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between element types. One inline function per step, so that the compiler can vectorise the loops. */
#include "runtime/dtype.h"

#include <math.h>
#include <string.h>

#define CHUNK 512

static inline uint32_t bits_of_f32(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof(u));
    return u;
}

static inline float f32_of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof(x));
    return x;
}

/* ---- f32 to and from the narrow floating types --------------------------------------------------------------------- */

static inline uint16_t bf16_of_f32(float x)
{
    uint32_t u = bits_of_f32(x);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t nan = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static inline float f32_of_bf16(uint16_t h)
{
    return f32_of_bits((uint32_t)h << 16);
}

/* Keeps the top bits of a significand after dropping `shift` (1..31) of them, to nearest, ties to even. */
static inline uint32_t round_shift(uint32_t value, unsigned shift)
{
    uint32_t half = 1u << (shift - 1);
    return (value + half - 1u + ((value >> shift) & 1u)) >> shift;
}

/* A narrow float of `mant` fraction bits and exponent bias `bias`: the magnitude bits of |x|, for finite |x|, without any check
 * against the largest value. Subnormals share the unit 2^(1 - bias - mant). */
static inline uint32_t narrow(uint32_t magnitude, unsigned mant, unsigned bias)
{
    int exponent = (int)(magnitude >> 23) - 127 + (int)bias;
    uint32_t fraction = magnitude & 0x7fffffu;
    if (exponent > 0)
        return round_shift((uint32_t)exponent << 23 | fraction, 23 - mant);
    if (exponent < -(int)mant)
        return 0; /* below half the smallest subnormal */
    return round_shift(fraction | 0x800000u, (unsigned)(24 - exponent) - mant);
}

static inline uint16_t f16_of_f32(float x)
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

static inline float f32_of_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu, fraction = h & 0x3ffu;
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-24f;
        return sign ? -f : f;
    }
    exponent = exponent == 31 ? 255 : exponent + 127 - 15;
    return f32_of_bits(sign | exponent << 23 | fraction << 13);
}

static inline uint8_t e4m3_of_f32(float x)
{
    uint32_t u = bits_of_f32(x), magnitude = u & 0x7fffffffu, sign = (u >> 24) & 0x80u, e;
    if (magnitude >= 0x43f00000u) /* 480, where the code of NaN is; infinity and NaN too */
        e = 0x7fu;
    else
        e = narrow(magnitude, 3, 7); /* above 464 rounds to the code of NaN */
    return (uint8_t)(sign | e);
}

static inline float f32_of_e4m3(uint8_t e)
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
static inline float odd_f32_of_f64(double x)
{
    float f = (float)x;
    if ((double)f == x || isnan(x))
        return f;
    uint32_t u = bits_of_f32(f);
    if (fabs((double)f) > fabs(x))
        u -= 1;
    return f32_of_bits(u | 1u);
}

static inline float odd_f32_of_i64(int64_t x)
{
    uint64_t magnitude = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    int lost = 64 - 24 - (magnitude ? __builtin_clzll(magnitude) : 63);
    if (lost > 0) {
        uint64_t rest = magnitude & ((1ull << lost) - 1);
        magnitude = (magnitude - rest) | (rest ? 1ull << lost : 0);
    }
    float f = (float)magnitude;
    return x < 0 ? -f : f;
}

static inline int64_t i64_of_f64(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

static inline int32_t i32_of_i64(int64_t x)
{
    return (int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

static inline uint8_t u8_of_i64(int64_t x)
{
    return (uint8_t)(x > UINT8_MAX ? UINT8_MAX : x < 0 ? 0 : x);
}

/* One loop over n elements: dst[i] = expression of x, the i-th source element. */
#define EACH(dst_type, src_type, expression)                                                                                     \
    do {                                                                                                                         \
        dst_type *restrict d_ = (dst_type *)dst;                                                                                 \
        const src_type *restrict s_ = (const src_type *)src;                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                                         \
            const src_type x = s_[i];                                                                                            \
            d_[i] = (expression);                                                                                                \
        }                                                                                                                        \
    } while (0)

static void copy(void *dst, const void *src, size_t bytes)
{
    if (bytes > 0)
        memcpy(dst, src, bytes);
}

void dtype_from_f32(int dtype, void *dst, const float *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(uint16_t, float, bf16_of_f32(x));
        break;
    case PKB_F16:
        EACH(uint16_t, float, f16_of_f32(x));
        break;
    case PKB_F32:
        copy(dst, src, n * sizeof(*src));
        break;
    case PKB_F64:
        EACH(double, float, (double)x);
        break;
    case PKB_FP8_E4M3:
        EACH(uint8_t, float, e4m3_of_f32(x));
        break;
    case PKB_I32:
        EACH(int32_t, float, i32_of_i64(i64_of_f64((double)x)));
        break;
    case PKB_I64:
        EACH(int64_t, float, i64_of_f64((double)x));
        break;
    case PKB_U8:
        EACH(uint8_t, float, u8_of_i64(i64_of_f64((double)x)));
        break;
    case PKB_BOOL:
        EACH(uint8_t, float, x != 0);
        break;
    }
}

void dtype_to_f32(int dtype, float *dst, const void *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(float, uint16_t, f32_of_bf16(x));
        break;
    case PKB_F16:
        EACH(float, uint16_t, f32_of_f16(x));
        break;
    case PKB_F32:
        copy(dst, src, n * sizeof(*dst));
        break;
    case PKB_F64:
        EACH(float, double, (float)x);
        break;
    case PKB_FP8_E4M3:
        EACH(float, uint8_t, f32_of_e4m3(x));
        break;
    case PKB_I32:
        EACH(float, int32_t, (float)x);
        break;
    case PKB_I64:
        EACH(float, int64_t, (float)x);
        break;
    case PKB_U8:
        EACH(float, uint8_t, (float)x);
        break;
    case PKB_BOOL:
        EACH(float, uint8_t, x ? 1.0f : 0.0f);
        break;
    }
}

void dtype_from_f64(int dtype, void *dst, const double *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(uint16_t, double, bf16_of_f32(odd_f32_of_f64(x)));
        break;
    case PKB_F16:
        EACH(uint16_t, double, f16_of_f32(odd_f32_of_f64(x)));
        break;
    case PKB_F32:
        EACH(float, double, (float)x);
        break;
    case PKB_F64:
        copy(dst, src, n * sizeof(*src));
        break;
    case PKB_FP8_E4M3:
        EACH(uint8_t, double, e4m3_of_f32(odd_f32_of_f64(x)));
        break;
    case PKB_I32:
        EACH(int32_t, double, i32_of_i64(i64_of_f64(x)));
        break;
    case PKB_I64:
        EACH(int64_t, double, i64_of_f64(x));
        break;
    case PKB_U8:
        EACH(uint8_t, double, u8_of_i64(i64_of_f64(x)));
        break;
    case PKB_BOOL:
        EACH(uint8_t, double, x != 0);
        break;
    }
}

void dtype_to_f64(int dtype, double *dst, const void *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(double, uint16_t, (double)f32_of_bf16(x));
        break;
    case PKB_F16:
        EACH(double, uint16_t, (double)f32_of_f16(x));
        break;
    case PKB_F32:
        EACH(double, float, (double)x);
        break;
    case PKB_F64:
        copy(dst, src, n * sizeof(*dst));
        break;
    case PKB_FP8_E4M3:
        EACH(double, uint8_t, (double)f32_of_e4m3(x));
        break;
    case PKB_I32:
        EACH(double, int32_t, (double)x);
        break;
    case PKB_I64:
        EACH(double, int64_t, (double)x);
        break;
    case PKB_U8:
        EACH(double, uint8_t, (double)x);
        break;
    case PKB_BOOL:
        EACH(double, uint8_t, x ? 1.0 : 0.0);
        break;
    }
}

void dtype_from_i64(int dtype, void *dst, const int64_t *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(uint16_t, int64_t, bf16_of_f32(odd_f32_of_i64(x)));
        break;
    case PKB_F16:
        EACH(uint16_t, int64_t, f16_of_f32(odd_f32_of_i64(x)));
        break;
    case PKB_F32:
        EACH(float, int64_t, (float)x);
        break;
    case PKB_F64:
        EACH(double, int64_t, (double)x);
        break;
    case PKB_FP8_E4M3:
        EACH(uint8_t, int64_t, e4m3_of_f32(odd_f32_of_i64(x)));
        break;
    case PKB_I32:
        EACH(int32_t, int64_t, i32_of_i64(x));
        break;
    case PKB_I64:
        copy(dst, src, n * sizeof(*src));
        break;
    case PKB_U8:
        EACH(uint8_t, int64_t, u8_of_i64(x));
        break;
    case PKB_BOOL:
        EACH(uint8_t, int64_t, x != 0);
        break;
    }
}

void dtype_to_i64(int dtype, int64_t *dst, const void *src, size_t n)
{
    switch (dtype) {
    case PKB_BF16:
        EACH(int64_t, uint16_t, i64_of_f64((double)f32_of_bf16(x)));
        break;
    case PKB_F16:
        EACH(int64_t, uint16_t, i64_of_f64((double)f32_of_f16(x)));
        break;
    case PKB_F32:
        EACH(int64_t, float, i64_of_f64((double)x));
        break;
    case PKB_F64:
        EACH(int64_t, double, i64_of_f64(x));
        break;
    case PKB_FP8_E4M3:
        EACH(int64_t, uint8_t, i64_of_f64((double)f32_of_e4m3(x)));
        break;
    case PKB_I32:
        EACH(int64_t, int32_t, (int64_t)x);
        break;
    case PKB_I64:
        copy(dst, src, n * sizeof(*dst));
        break;
    case PKB_U8:
        EACH(int64_t, uint8_t, (int64_t)x);
        break;
    case PKB_BOOL:
        EACH(int64_t, uint8_t, (int64_t)(x != 0));
        break;
    }
}

/* Neither type is f32; goes through a type that holds every value of `from`. */
static void convert_chunk(int to, void *dst, int from, const void *src, size_t n)
{
    int64_t i64[CHUNK];
    float f32[CHUNK];
    if (from == PKB_F64) {
        dtype_from_f64(to, dst, (const double *)src, n);
    } else if (dtype_is_float(from)) {
        dtype_to_f32(from, f32, src, n);
        dtype_from_f32(to, dst, f32, n);
    } else {
        dtype_to_i64(from, i64, src, n);
        dtype_from_i64(to, dst, i64, n);
    }
}

void dtype_convert(int to, void *dst, int from, const void *src, size_t n)
{
    size_t to_size = dtype_size(to), from_size = dtype_size(from);
    if (to == from) {
        copy(dst, src, n * to_size);
        return;
    }
    if (to == PKB_F32 || from == PKB_F32) { /* one pass, without a buffer */
        if (to == PKB_F32)
            dtype_to_f32(from, (float *)dst, src, n);
        else
            dtype_from_f32(to, dst, (const float *)src, n);
        return;
    }
    for (size_t i = 0; i < n; i += CHUNK) {
        size_t count = n - i < CHUNK ? n - i : CHUNK;
        convert_chunk(to, (char *)dst + i * to_size, from, (const char *)src + i * from_size, count);
    }
}
