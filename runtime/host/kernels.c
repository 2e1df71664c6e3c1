/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/kernels.h"

#include <math.h>

/* ---- between storage and arithmetic -------------------------------------------------------------------------------- */

enum arithmetic arithmetic_of(int dst_dtype, int a_dtype, int b_dtype)
{
    if (dst_dtype == PKB_F64 || a_dtype == PKB_F64 || b_dtype == PKB_F64)
        return ARITHMETIC_F64;
    if (dtype_is_float(dst_dtype) || dtype_is_float(a_dtype) || dtype_is_float(b_dtype))
        return ARITHMETIC_F32;
    return ARITHMETIC_I64;
}

static bool native(enum arithmetic type, int dtype)
{
    static const int dtypes[] = {[ARITHMETIC_F32] = PKB_F32, [ARITHMETIC_F64] = PKB_F64, [ARITHMETIC_I64] = PKB_I64};
    return dtypes[type] == dtype;
}

const void *kernel_load(enum arithmetic type, union kernel_buffer *buf, int dtype, const void *src, size_t n)
{
    if (native(type, dtype))
        return src;
    if (type == ARITHMETIC_F32)
        dtype_to_f32(dtype, buf->f32, src, n);
    else if (type == ARITHMETIC_F64)
        dtype_to_f64(dtype, buf->f64, src, n);
    else
        dtype_to_i64(dtype, buf->i64, src, n);
    return buf;
}

void *kernel_target(enum arithmetic type, union kernel_buffer *buf, int dtype, void *dst)
{
    return native(type, dtype) ? dst : buf;
}

void kernel_store(enum arithmetic type, const union kernel_buffer *buf, int dtype, void *dst, size_t n)
{
    if (native(type, dtype))
        return;
    if (type == ARITHMETIC_F32)
        dtype_from_f32(dtype, dst, buf->f32, n);
    else if (type == ARITHMETIC_F64)
        dtype_from_f64(dtype, dst, buf->f64, n);
    else
        dtype_from_i64(dtype, dst, buf->i64, n);
}

void kernel_repeat(enum arithmetic type, union kernel_buffer *buf, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (type == ARITHMETIC_F32)
            buf->f32[i] = buf->f32[0];
        else if (type == ARITHMETIC_F64)
            buf->f64[i] = buf->f64[0];
        else
            buf->i64[i] = buf->i64[0];
    }
}

void kernel_spread(enum arithmetic type, union kernel_buffer *buf, double value, size_t n)
{
    if (type == ARITHMETIC_F32)
        buf->f32[0] = (float)value;
    else if (type == ARITHMETIC_F64)
        buf->f64[0] = value;
    else
        buf->i64[0] = (int64_t)value;
    kernel_repeat(type, buf, n);
}

void kernel_iota(enum arithmetic type, void *d, double first, double step, size_t start, size_t n)
{
    uint64_t origin = 0, advance = 0;
    if (type == ARITHMETIC_I64) {
        origin = (uint64_t)(int64_t)first;
        advance = (uint64_t)(int64_t)step;
    }
    for (size_t i = 0; i < n; i++) {
        if (type == ARITHMETIC_F64)
            ((double *)d)[i] = first + step * (double)(start + i);
        else
            ((uint64_t *)d)[i] = origin + advance * (start + i);
    }
}

/* ---- element by element -------------------------------------------------------------------------------------------- */

#define MAP(expression)                                                                                                          \
    for (size_t i = 0; i < n; i++) {                                                                                             \
        const T x = a[i];                                                                                                        \
        d[i] = (expression);                                                                                                     \
    }                                                                                                                            \
    break

#define ZIP(expression)                                                                                                          \
    for (size_t i = 0; i < n; i++) {                                                                                             \
        const T x = a[i], y = b[i];                                                                                              \
        d[i] = (expression);                                                                                                     \
    }                                                                                                                            \
    break

/* The cases of enum rt_binary that mean the same for every type. */
#define COMPARISONS                                                                                                              \
    case RT_EQ:                                                                                                                  \
        ZIP(x == y);                                                                                                             \
    case RT_NE:                                                                                                                  \
        ZIP(x != y);                                                                                                             \
    case RT_LT:                                                                                                                  \
        ZIP(x < y);                                                                                                              \
    case RT_LE:                                                                                                                  \
        ZIP(x <= y);                                                                                                             \
    case RT_GT:                                                                                                                  \
        ZIP(x > y);                                                                                                              \
    case RT_GE:                                                                                                                  \
        ZIP(x >= y)

/* NaN wins, on either side. */
#define LESSER(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))
#define GREATER(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))

#define T float
#define NAME(name) name##_f32
#define MATH(name) name##f
#include "runtime/host/kernels_float.h"
#undef T
#undef NAME
#undef MATH

#define T double
#define NAME(name) name##_f64
#define MATH(name) name
#include "runtime/host/kernels_float.h"
#undef T
#undef NAME
#undef MATH

/* Integers wrap around. */
#define T int64_t
#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))

static void unary_i64(enum rt_unary op, int64_t *d, const int64_t *a, size_t n)
{
    switch (op) {
    case RT_NEG:
        MAP(WRAP(0, -, x));
    case RT_ABS:
        MAP(x < 0 ? WRAP(0, -, x) : x);
    case RT_SQUARE:
        MAP(WRAP(x, *, x));
    default: /* the front end has refused the others */
        break;
    }
}

static inline int64_t divide(int64_t x, int64_t y)
{
    return y == -1 ? WRAP(0, -, x) : x / y;
}

static inline int64_t floor_divide(int64_t x, int64_t y)
{
    int64_t q = divide(x, y);
    return y != -1 && x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

static void binary_i64(enum rt_binary op, int64_t *d, const int64_t *a, const int64_t *b, size_t n)
{
    switch (op) {
    case RT_ADD:
        ZIP(WRAP(x, +, y));
    case RT_SUB:
        ZIP(WRAP(x, -, y));
    case RT_MUL:
        ZIP(WRAP(x, *, y));
    case RT_DIV:
        ZIP(divide(x, y));
    case RT_FLOORDIV:
        ZIP(floor_divide(x, y));
    case RT_MIN:
        ZIP(x < y ? x : y);
    case RT_MAX:
        ZIP(x > y ? x : y);
    case RT_MOD:
        ZIP(WRAP(x, -, WRAP(floor_divide(x, y), *, y)));
        COMPARISONS;
    case RT_BINARY_COUNT:
        break;
    }
}

static void fold_i64(enum rt_reduction op, int64_t *accumulator, const int64_t *a, size_t n)
{
    int64_t y = *accumulator;
    for (size_t i = 0; i < n; i++) {
        if (op == RT_SUM)
            y = WRAP(y, +, a[i]);
        else if (op == RT_PROD)
            y = WRAP(y, *, a[i]);
        else if (op == RT_AMIN)
            y = a[i] < y ? a[i] : y;
        else
            y = a[i] > y ? a[i] : y;
    }
    *accumulator = y;
}
#undef T

void kernel_unary(enum arithmetic type, enum rt_unary op, void *d, const void *a, size_t n)
{
    if (type == ARITHMETIC_F32)
        unary_f32(op, d, a, n);
    else if (type == ARITHMETIC_F64)
        unary_f64(op, d, a, n);
    else
        unary_i64(op, d, a, n);
}

static int check_divisors(const int64_t *b, size_t n, struct pkb_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (b[i] == 0)
            return pkb_error_set(err, "division by zero");
    }
    return 0;
}

int kernel_binary(enum arithmetic type, enum rt_binary op, void *d, const void *a, const void *b, size_t n, struct pkb_error *err)
{
    if (type == ARITHMETIC_I64 && (op == RT_DIV || op == RT_FLOORDIV || op == RT_MOD) && check_divisors(b, n, err))
        return -1;
    if (type == ARITHMETIC_F32)
        binary_f32(op, d, a, b, n);
    else if (type == ARITHMETIC_F64)
        binary_f64(op, d, a, b, n);
    else
        binary_i64(op, d, a, b, n);
    return 0;
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

void kernel_accumulate(enum arithmetic type, enum rt_reduction op, void *d, const void *a, size_t n)
{
    static const enum rt_binary as_binary[RT_REDUCTION_COUNT] = {
        [RT_SUM] = RT_ADD, [RT_PROD] = RT_MUL, [RT_AMIN] = RT_MIN, [RT_AMAX] = RT_MAX};
    (void)kernel_binary(type, as_binary[op], d, d, a, n, NULL);
}

void kernel_fold(enum arithmetic type, enum rt_reduction op, void *accumulator, const void *a, size_t n)
{
    if (type == ARITHMETIC_F32)
        fold_f32(op, accumulator, a, n);
    else if (type == ARITHMETIC_F64)
        fold_f64(op, accumulator, a, n);
    else
        fold_i64(op, accumulator, a, n);
}

void kernel_scan(enum arithmetic type, void *accumulator, void *d, const void *a, size_t n)
{
    if (type == ARITHMETIC_F64) {
        double y = *(double *)accumulator;
        for (size_t i = 0; i < n; i++)
            ((double *)d)[i] = y += ((const double *)a)[i];
        *(double *)accumulator = y;
    } else {
        uint64_t y = *(uint64_t *)accumulator;
        for (size_t i = 0; i < n; i++)
            ((uint64_t *)d)[i] = y += ((const uint64_t *)a)[i];
        *(uint64_t *)accumulator = y;
    }
}

void kernel_neutral(enum arithmetic type, enum rt_reduction op, void *d, size_t n)
{
    static const double real[RT_REDUCTION_COUNT] = {[RT_PROD] = 1, [RT_AMIN] = INFINITY, [RT_AMAX] = -INFINITY};
    static const int64_t integer[RT_REDUCTION_COUNT] = {[RT_PROD] = 1, [RT_AMIN] = INT64_MAX, [RT_AMAX] = INT64_MIN};
    for (size_t i = 0; i < n; i++) {
        if (type == ARITHMETIC_F32)
            ((float *)d)[i] = (float)real[op];
        else if (type == ARITHMETIC_F64)
            ((double *)d)[i] = real[op];
        else
            ((int64_t *)d)[i] = integer[op];
    }
}
