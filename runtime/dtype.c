/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
    double roundoff; /* 0: not a floating type */
} types[PKB_DTYPE_COUNT] = {
    [PKB_BF16] = {"bf16", 2, 0x1p-8},
    [PKB_F16] = {"f16", 2, 0x1p-11},
    [PKB_F32] = {"f32", 4, 0x1p-24},
    [PKB_F64] = {"f64", 8, 0x1p-53},
    [PKB_FP8_E4M3] = {"fp8_e4m3", 1, 0x1p-4},
    [PKB_I32] = {"i32", 4, 0},
    [PKB_I64] = {"i64", 8, 0},
    [PKB_U8] = {"u8", 1, 0},
    [PKB_BOOL] = {"bool", 1, 0},
};

static bool known(int dtype)
{
    return dtype >= 0 && dtype < PKB_DTYPE_COUNT;
}

size_t dtype_size(int dtype)
{
    return known(dtype) ? types[dtype].size : 0;
}

const char *dtype_name(int dtype)
{
    return known(dtype) ? types[dtype].name : "?";
}

int dtype_parse(const char *name)
{
    for (int i = 0; i < PKB_DTYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0)
            return i;
    }
    return -1;
}

bool dtype_is_float(int dtype)
{
    return known(dtype) && types[dtype].roundoff > 0;
}

double dtype_roundoff(int dtype)
{
    return known(dtype) ? types[dtype].roundoff : 0;
}

/* ---- forms of tensors ---------------------------------------------------------------------------------------------- */

int tensor_numel(const pkb_tensor *t, int64_t *numel, struct pkb_error *err)
{
    int64_t n = 1;
    bool empty = false;
    if (!known(t->dtype))
        return pkb_error_set(err, "%d is no dtype", (int)t->dtype);
    if (t->ndim < 0 || t->ndim > PKB_MAX_DIMS)
        return pkb_error_set(err, "%d dimensions, the most is %d", (int)t->ndim, PKB_MAX_DIMS);
    for (int i = 0; i < t->ndim; i++) {
        if (t->shape[i] < 0)
            return pkb_error_set(err, "dimension %d is %" PRId64, i, t->shape[i]);
        empty = empty || t->shape[i] == 0;
    }
    for (int i = 0; i < t->ndim && !empty; i++) {
        if (__builtin_mul_overflow(n, t->shape[i], &n))
            return pkb_error_set(err, "too many elements");
    }
    *numel = empty ? 0 : n;
    return 0;
}

int tensor_bytes(const pkb_tensor *t, size_t *bytes, struct pkb_error *err)
{
    int64_t n, product;
    if (tensor_numel(t, &n, err))
        return -1;
    if (__builtin_mul_overflow(n, (int64_t)dtype_size(t->dtype), &product))
        return pkb_error_set(err, "too many bytes");
    *bytes = (size_t)product;
    return 0;
}

bool tensor_same_form(const pkb_tensor *a, const pkb_tensor *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim)
        return false;
    for (int i = 0; i < a->ndim; i++) {
        if (a->shape[i] != b->shape[i])
            return false;
    }
    return true;
}

void tensor_describe(const pkb_tensor *t, char *text, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return;
    for (int i = -1; i <= t->ndim && used < size; i++) {
        int n;
        if (i < 0)
            n = snprintf(text, size, "%s[", dtype_name(t->dtype));
        else if (i < t->ndim && i < PKB_MAX_DIMS)
            n = snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "", t->shape[i]);
        else
            n = snprintf(text + used, size - used, "]");
        used += n > 0 ? (size_t)n : 0;
    }
}
