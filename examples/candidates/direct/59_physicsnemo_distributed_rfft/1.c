/* SPDX-License-Identifier: Apache-2.0 */
/* The transform along the complete axis stores its results at the ranks that own the frequencies, already transposed; one
 * barrier; the other transform. Both are mixed-radix transforms of any length. */
#include <pkb/candidate.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef float _Complex number;

static pkb_symm box;     /* two of (B, H / W, X), used in turn: rows of the own frequencies */
static size_t count;     /* elements of one */
static number *buffer;   /* three rows of the longer axis */
static number *roots[2]; /* of unity, for the rows' and the columns' axis */
static unsigned call;

/* Without the care for infinities that the operator takes. */
static number product(number a, number b)
{
    float re = crealf(a) * crealf(b) - cimagf(a) * cimagf(b), im = crealf(a) * cimagf(b) + cimagf(a) * crealf(b);
    return CMPLXF(re, im);
}

/* Transform of the n elements src[0], src[stride], ..., into dst: of the residue classes modulo the smallest factor of n
 * first, which are then combined. root has the N-th roots of unity, N = n * step. */
static void transform(number *dst, const number *src, int64_t n, int64_t stride, const number *root, int64_t step, number *work)
{
    int64_t radix = 2, part;
    if (n == 1) {
        dst[0] = src[0];
        return;
    }
    while (n % radix != 0)
        radix = radix * radix > n ? n : radix + 1;
    part = n / radix;
    for (int64_t p = 0; p < radix; p++)
        transform(dst + p * part, src + p * stride, part, stride * radix, root, step * radix, work);
    for (int64_t k = 0; k < n; k++) {
        number sum = dst[k % part];
        for (int64_t p = 1, turn = k; p < radix; p++, turn = turn + k < n ? turn + k : turn + k - n)
            sum += product(dst[p * part + k % part], root[turn * step]);
        work[k] = sum;
    }
    memcpy(dst, work, (size_t)n * sizeof(number));
}

static number *make_roots(int64_t n)
{
    number *root = malloc((size_t)n * sizeof(number));
    for (int64_t k = 0; root && k < n; k++) {
        double angle = -2 * M_PI * (double)k / (double)n;
        root[k] = CMPLXF((float)cos(angle), (float)sin(angle));
    }
    return root;
}

/* x is (B, H, X / W); the output (B, H / W, X / 2 + 1, 2). */
int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    int64_t h = in[0].shape[1], x = in[0].shape[2] * ctx->world;
    (void)out;
    buffer = malloc(3 * (size_t)(h > x ? h : x) * sizeof(number));
    roots[0] = make_roots(h);
    roots[1] = make_roots(x);
    if (!buffer || !roots[0] || !roots[1])
        return -1;
    count = (size_t)(in[0].shape[0] * (h / ctx->world) * x);
    return ctx->symm_alloc(ctx, 2 * count * sizeof(number), &box);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(buffer);
    free(roots[0]);
    free(roots[1]);
}

/* Column j of field b: frequency k belongs to rank k / (H / W). */
static void transform_column(const pkb_context *ctx, const pkb_tensor *x, int64_t b, int64_t j, size_t offset, float scale)
{
    int64_t h = x->shape[1], own = x->shape[2], share = h / ctx->world, width = own * ctx->world;
    const float *column = (const float *)x->data + b * h * own + j;
    number *to = buffer + h;
    for (int64_t i = 0; i < h; i++)
        buffer[i] = column[i * own] * scale;
    transform(to, buffer, h, 1, roots[0], 1, buffer + 2 * h);
    for (int64_t k = 0; k < h; k++) {
        number *peer = (number *)box.peers[k / share] + offset;
        peer[(b * share + k % share) * width + ctx->rank * own + j] = to[k];
    }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t batch = in[0].shape[0], h = in[0].shape[1], own = in[0].shape[2], x = own * ctx->world, half = out[0].shape[2];
    size_t offset = call++ % 2 * count;
    float scale = (float)(1 / sqrt((double)h * (double)x));
    const number *row = (const number *)box.local + offset;

    for (int64_t b = 0; b < batch; b++)
        for (int64_t j = 0; j < own; j++)
            transform_column(ctx, &in[0], b, j, offset, scale);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t i = 0; i < batch * out[0].shape[1]; i++, row += x) {
        transform(buffer, row, x, 1, roots[1], 1, buffer + x);
        memcpy((number *)out[0].data + i * half, buffer, (size_t)half * sizeof(number));
    }
    return 0;
}
