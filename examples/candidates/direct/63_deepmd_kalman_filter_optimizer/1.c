/* SPDX-License-Identifier: Apache-2.0 */
/* One barrier for both exchanges: every rank publishes its term, its error and its vectors P H before the sum over the ranks
 * is known, and all ranks update all weights. */
#include <pkb/candidate.h>

#include <string.h>

enum { H, ERROR, WEIGHTS, P };            /* inputs */
enum { WEIGHTS_ALL, P_NEW, LAMBDA_NEXT }; /* outputs */
enum { TERM, FACTOR, VECTORS };           /* what a rank publishes: two numbers, then P H and the weights of all blocks */

static pkb_symm box; /* two sets, used in turn: one barrier per call is enough */
static size_t set;   /* numbers of one */
static unsigned call;

static double dot(const double *a, const double *b, int64_t n)
{
    double lanes[8] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++)
            lanes[l] += a[i + l] * b[i + l];
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int l = 0; l < 8; l++)
        sum += lanes[l];
    return sum;
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    set = VECTORS + 2 * (size_t)(in[H].shape[0] * in[H].shape[1]);
    return ctx->symm_alloc(ctx, 2 * set * sizeof(double), &box);
}

static void publish(const pkb_tensor *in, double lambda, double *own)
{
    int64_t blocks = in[H].shape[0], n = in[H].shape[1];
    const double *h = in[H].data, *p = in[P].data;
    own[TERM] = lambda * (double)blocks;
    own[FACTOR] = *(const double *)in[ERROR].data;
    for (int64_t b = 0; b < blocks; b++) {
        double *k = own + VECTORS + b * n;
        for (int64_t i = 0; i < n; i++)
            k[i] = dot(p + (b * n + i) * n, h + b * n, n);
        own[TERM] += dot(h + b * n, k, n);
    }
    memcpy(own + VECTORS + blocks * n, in[WEIGHTS].data, (size_t)(blocks * n) * sizeof(double));
}

/* The weights of one rank after the step. */
static void update_weights(const double *peer, double a, int64_t count, double *to)
{
    const double *k = peer + VECTORS, *old = k + count;
    for (int64_t i = 0; i < count; i++)
        to[i] = old[i] + a * peer[FACTOR] * k[i];
}

static void update_covariances(const pkb_tensor *p, const double *k, double a, double lambda, double *to)
{
    int64_t n = p->shape[1];
    const double *old = p->data;
    for (int64_t row = 0; row < p->shape[0] * n; row++, old += n, to += n)
        for (int64_t j = 0; j < n; j++)
            to[j] = (old[j] - a * k[row] * k[row / n * n + j]) / lambda;
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    double lambda = pkb_param_value(ctx, "lambda", 0.98), nue = pkb_param_value(ctx, "nue", 0.9987), sum = 0;
    int64_t count = in[H].shape[0] * in[H].shape[1];
    size_t offset = call++ % 2 * set;
    double *own = (double *)box.local + offset;

    publish(in, lambda, own);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        sum += ((const double *)box.peers[q])[offset + TERM];
    for (int32_t q = 0; q < ctx->world; q++)
        update_weights((const double *)box.peers[q] + offset, 1 / sum, count, (double *)out[WEIGHTS_ALL].data + q * count);
    update_covariances(&in[P], own + VECTORS, 1 / sum, lambda, out[P_NEW].data);
    *(double *)out[LAMBDA_NEXT].data = nue * lambda + 1 - nue;
    return 0;
}
