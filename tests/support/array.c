/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/array.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/random.h"

struct rt *rt;

struct rt *array_runtime(void)
{
    struct pkb_error err = {""};
    struct rt_options o = {.rank = 0, .world = 1, .shm_prefix = "/pkb-test"};
    struct rt *own = rt_open("host", &o, &err);
    if (!own)
        print_error("%s\n", err.text);
    return own;
}

int array_set_up(void **state)
{
    (void)state;
    rt = array_runtime();
    return rt ? 0 : -1;
}

int array_tear_down(void **state)
{
    (void)state;
    rt_close(rt);
    return 0;
}

static uint32_t stream; /* every array has other numbers */

void array_make(struct array *a, int dtype, int ndim, const int64_t *shape, double low, double high)
{
    uint8_t stored[ARRAY_MAX * 8];
    int64_t n;
    struct rng r = rng_make(1, 1, 1, 1, stream++);
    a->t = rt_new(rt, dtype, ndim, shape);
    assert_non_null(a->t);
    assert_int_equal(tensor_numel(a->t, &n, NULL), 0);
    assert_true(n <= ARRAY_MAX);
    a->n = (size_t)n;
    if (dtype_is_float(dtype))
        rng_fill_uniform(&r, dtype, stored, a->n, low, high);
    else
        rng_fill_integers(&r, dtype, stored, a->n, (int64_t)low, (int64_t)high + 1);
    dtype_to_f64(dtype, a->x, stored, a->n);
    rt_upload(rt, a->t, stored);
}

void array_fetch(const pkb_tensor *t, void *stored)
{
    struct pkb_error err = {""};
    rt_download(rt, stored, t);
    if (rt_sync(rt, &err))
        fail_msg("%s", err.text);
}

void array_check_exact(const pkb_tensor *t, const double *want, size_t n, bool f32)
{
    uint8_t stored[ARRAY_MAX * 8];
    double got[ARRAY_MAX], rounded[ARRAY_MAX];
    float single[ARRAY_MAX];
    array_fetch(t, stored);
    dtype_to_f64(t->dtype, got, stored, n);
    if (f32) {
        for (size_t i = 0; i < n; i++)
            single[i] = (float)want[i];
        dtype_from_f32(t->dtype, stored, single, n);
    } else {
        dtype_from_f64(t->dtype, stored, want, n);
    }
    dtype_to_f64(t->dtype, rounded, stored, n);
    for (size_t i = 0; i < n; i++) {
        if (got[i] != rounded[i] && !(isnan(got[i]) && isnan(rounded[i])))
            fail_msg("%s element %zu: %.17g, expected %.17g", dtype_name(t->dtype), i, got[i], rounded[i]);
    }
}

void array_check_close(const pkb_tensor *t, const double *want, size_t n, double relative)
{
    uint8_t stored[ARRAY_MAX * 8];
    double got[ARRAY_MAX], u = dtype_roundoff(t->dtype) * 1.01 + relative;
    double least = t->dtype == PKB_FP8_E4M3 ? 0x1p-10 : t->dtype == PKB_F16 ? 0x1p-25 : 1e-38; /* half a subnormal step */
    array_fetch(t, stored);
    dtype_to_f64(t->dtype, got, stored, n);
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= u * fabs(want[i]) + least))
            fail_msg("%s element %zu: %.17g, expected %.17g", dtype_name(t->dtype), i, got[i], want[i]);
    }
}

void array_unravel(const pkb_tensor *t, size_t i, int64_t index[PKB_MAX_DIMS])
{
    for (int d = t->ndim - 1; d >= 0; d--) {
        index[d] = (int64_t)i % t->shape[d];
        i /= (size_t)t->shape[d];
    }
}

size_t array_ravel(const pkb_tensor *t, const int64_t index[PKB_MAX_DIMS])
{
    size_t i = 0;
    for (int d = 0; d < t->ndim; d++)
        i = i * (size_t)t->shape[d] + (size_t)index[d];
    return i;
}
