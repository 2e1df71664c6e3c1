/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between element types. One inline function per step, so that the compiler can vectorise the loops. */
#include "runtime/dtype.h"

#include <string.h>

#include "runtime/element.h"

#define CHUNK 512

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
