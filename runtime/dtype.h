/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: size, name, rounding and conversion on the host.
 *
 * Conversions to a narrower type round to nearest, ties to even. Overflow gives infinity in bf16/f16/f32 and NaN in fp8 e4m3,
 * which has no infinity (the behaviour of PyTorch's float8_e4m3fn casts); NaN stays NaN. Conversions to integer types truncate
 * towards zero and saturate, NaN becomes 0; to bool: x != 0.
 */
#ifndef PKB_RUNTIME_DTYPE_H
#define PKB_RUNTIME_DTYPE_H

#define PKB_NO_EXPORTS
#include <pkb/candidate.h>
#include <stdbool.h>

#include "util/error.h"

#define PKB_DTYPE_COUNT 9

/* Bytes per element; 0 for a value that is no dtype. */
size_t dtype_size(int dtype);

/* "bf16", "f16", "f32", "f64", "fp8_e4m3", "i32", "i64", "u8", "bool"; "?" for a value that is no dtype. */
const char *dtype_name(int dtype);

/* The dtype of a name, or -1. */
int dtype_parse(const char *name);

bool dtype_is_float(int dtype);

/* Unit roundoff u of a floating type: half the distance from 1 to the next number, i.e. bf16 2^-8, f16 2^-11, f32 2^-24,
 * f64 2^-53, e4m3 2^-4. 0 for others. */
double dtype_roundoff(int dtype);

/* n elements from f64/f32/i64 to `dtype` and back. Source and destination must not overlap. */
void dtype_from_f64(int dtype, void *dst, const double *src, size_t n);
void dtype_to_f64(int dtype, double *dst, const void *src, size_t n);
void dtype_from_f32(int dtype, void *dst, const float *src, size_t n);
void dtype_to_f32(int dtype, float *dst, const void *src, size_t n);
void dtype_from_i64(int dtype, void *dst, const int64_t *src, size_t n);
void dtype_to_i64(int dtype, int64_t *dst, const void *src, size_t n);

/* n elements from one type to another (exact where `to` holds the value, else rounded once). */
void dtype_convert(int to, void *dst, int from, const void *src, size_t n);

/* Number of elements and bytes of a shape. -1 with the error set when a dimension is negative, ndim is out of range, the
 * dtype is unknown, or the product overflows. */
int tensor_numel(const pkb_tensor *t, int64_t *numel, struct pkb_error *err);
int tensor_bytes(const pkb_tensor *t, size_t *bytes, struct pkb_error *err);

/* Same dtype, ndim and shape. */
bool tensor_same_form(const pkb_tensor *a, const pkb_tensor *b);

/* "bf16[24, 72]" into text. */
void tensor_describe(const pkb_tensor *t, char *text, size_t size);

#endif
