/* SPDX-License-Identifier: Apache-2.0 */
/* Windows, Fourier transforms, and tensors in memory that the host reads. */
#include <math.h>
#include <string.h>

#include "tests/gpu/cases.h"

/* ---- windows ------------------------------------------------------------------------------------------------------- */

static void call_im2col(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_im2col(rt, dst, in[0], &c->window);
}

/* The form of the matrix: the batch, channels times taps, positions. */
static pkb_tensor matrix_of(const pkb_tensor *src, const struct rt_window *w)
{
    pkb_tensor t = {.dtype = src->dtype, .ndim = 3, .shape = {src->shape[0], src->shape[1], 1}};
    for (int i = 0; i < src->ndim - 2; i++) {
        t.shape[1] *= w->kernel[i];
        t.shape[2] *= (src->shape[2 + i] + 2 * w->pad[i] - w->dilation[i] * (w->kernel[i] - 1) - 1) / w->stride[i] + 1;
    }
    return t;
}

static void windows(const struct gpu_pair *pair, int type)
{
    static const struct {
        int ndim;
        int64_t shape[5];
        struct rt_window w;
    } rows[] = {
        {3, {2, 3, 17}, {{3}, {1}, {1}, {1}}},
        {3, {2, 2, 9}, {{2}, {3}, {4}, {3}}},
        {3, {1, 2, 5000}, {{1}, {1}, {5}, {1}}},
        {3, {0, 2, 4}, {{3}, {2}, {0}, {1}}},
        {3, {1, 2, 0}, {{2}, {1}, {1}, {1}}},
        {4, {2, 3, 40, 41}, {{3, 3}, {1, 1}, {1, 1}, {1, 1}}},
        {4, {1, 2, 32, 64}, {{16, 16}, {16, 16}, {0, 0}, {1, 1}}},
        {4, {1, 2, 8, 7}, {{3, 2}, {2, 1}, {2, 0}, {2, 3}}},
        {5, {1, 2, 4, 5, 6}, {{3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}},
        {5, {2, 1, 5, 4, 3}, {{2, 3, 1}, {2, 1, 2}, {0, 1, 1}, {3, 1, 1}}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct op_case c = {"im2col", call_im2col, .n_in = 1, .window = rows[i].w};
        c.in[0] = (pkb_tensor){.dtype = type, .ndim = rows[i].ndim};
        memcpy(c.in[0].shape, rows[i].shape, sizeof(rows[i].shape));
        c.dst = matrix_of(&c.in[0], &rows[i].w);
        run_case(pair, &c);
    }
}

/* ---- transforms ---------------------------------------------------------------------------------------------------- */

static void call_fft(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    rt_fft(rt, (enum rt_fft_kind)c->op, dst, in[0]);
}

/* Of a spectrum that is Hermitian, as that of real numbers. With `right` what is left of it is the result. */
static void call_fft_back(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    int64_t n = c->in[0].shape[1];
    pkb_tensor *spectrum = rt_new(rt, PKB_F32, RT_SHAPE(c->in[0].shape[0], n / 2 + 1, 2)),
               *back = rt_new_like(rt, PKB_F32, in[0]);
    rt_fft(rt, RT_FFT_REAL, spectrum, in[0]);
    rt_fft(rt, RT_FFT_TO_REAL, back, spectrum);
    rt_copy(rt, dst, c->right ? spectrum : back);
}

/* Vectors at addresses that are no multiple of a complex number's size. */
static void call_fft_shifted(struct rt *rt, const struct op_case *c, pkb_tensor *dst, pkb_tensor **in)
{
    int64_t n = c->dst.shape[0] - 1;
    pkb_tensor *spectrum = rt_new(rt, PKB_F32, RT_SHAPE(n / 2 + 1, 2));
    rt_copy(rt, dst, in[0]);
    rt_fft(rt, RT_FFT_REAL, spectrum, rt_rows(rt, in[0], 1, n));
    rt_fft(rt, RT_FFT_TO_REAL, rt_rows(rt, dst, 1, n), spectrum);
}

static void transforms(const struct gpu_pair *pair, int64_t count, int64_t n)
{
    double norm = sqrt((double)n) * 4;
    struct op_case c = {"fft", call_fft, .n_in = 1, .tolerance = {0, 2e-6 * norm}};
    c.in[0] = c.dst = FORM(PKB_F32, count, n, 2);
    for (c.op = RT_FFT_FORWARD; c.op <= RT_FFT_INVERSE; c.op++)
        run_case(pair, &c);
    c.op = RT_FFT_REAL, c.in[0] = FORM(PKB_F32, count, n), c.dst = FORM(PKB_F32, count, n / 2 + 1, 2);
    run_case(pair, &c);
    c.name = "fft kept", c.run = call_fft_back, c.right = true;
    run_case(pair, &c);
    c.name = "fft back", c.right = false, c.dst = c.in[0], c.tolerance.absolute = 8e-6 * (double)n;
    run_case(pair, &c);
    c.name = "fft shifted", c.run = call_fft_shifted, c.in[0] = c.dst = FORM(PKB_F32, n + 1);
    run_case(pair, &c);
}

/* ---- memory of both sides ------------------------------------------------------------------------------------------ */

/* What the device writes by every way into such memory, the host reads there; and the device what the host has written. */
static void shared_memory(struct rt *rt)
{
    static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    struct pkb_error err = {""};
    pkb_tensor t = FORM(PKB_F32, 3, 4), bytes = FORM(PKB_U8, 16);
    float got[12] = {0};
    if (rt_keep_shared(rt, &t, &err) || rt_keep_shared(rt, &bytes, &err)) {
        gpu_check(false, "shared memory: %s", err.text);
        return;
    }
    rt_upload(rt, &t, numbers);
    rt_fill_bytes(rt, &bytes, 0x5a);
    pkb_tensor *sum = rt_new_like(rt, PKB_F32, &t), *column = rt_new(rt, PKB_F32, RT_SHAPE(3, 1));
    rt_binary(rt, RT_ADD, sum, &t, &t);
    rt_copy(rt, &t, sum);
    rt_fill(rt, column, -1);
    rt_paste(rt, &t, 1, 2, column);
    rt_download(rt, got, &t);
    int rc = rt_sync(rt, &err);
    const float *here = t.data;
    bool right = rc == 0 && ((const uint8_t *)bytes.data)[15] == 0x5a;
    for (int i = 0; i < 12 && right; i++)
        right = here[i] == (i % 4 == 2 ? -1 : 2 * numbers[i]) && got[i] == here[i];
    gpu_check(right, "shared memory, read by the host: %s", err.text);
    if (rc)
        return;
    memcpy(t.data, numbers, sizeof(numbers));
    rt_binary_scalar(rt, RT_MUL, sum, &t, 3);
    rt_download(rt, got, sum);
    rc = rt_sync(rt, &err);
    gpu_check(rc == 0 && got[0] == 3 && got[11] == 36, "shared memory, written by the host: %s", err.text);
    rt_release_all(rt);
}

void cases_of_transforms(const struct gpu_pair *pair)
{
    static const int64_t lengths[] = {1, 2, 3, 5, 8, 13, 64, 100, 127, 1000, 4096};
    for (int type = 0; type < PKB_DTYPE_COUNT; type++)
        windows(pair, type);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        transforms(pair, 3, lengths[i]);
        transforms(pair, 1, lengths[i]);
    }
    transforms(pair, 0, 16);
    shared_memory(pair->cuda);
}
