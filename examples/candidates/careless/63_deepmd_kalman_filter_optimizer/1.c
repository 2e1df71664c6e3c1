/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: the innovation is summed over the own blocks alone; the all-reduce is forgotten. */
#include <pkb/candidate.h>

#include <stdlib.h>
#include <string.h>

static pkb_symm box; /* new weights */
static double *k;    /* P H of all blocks */

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    size_t bytes = (size_t)(in[0].shape[0] * in[0].shape[1]) * sizeof(double);
    (void)out;
    k = malloc(bytes);
    return k ? ctx->symm_alloc(ctx, bytes, &box) : -1;
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(k);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    double lambda = pkb_param_value(ctx, "lambda", 0.98), nue = pkb_param_value(ctx, "nue", 0.9987), t = 0;
    int64_t n = in[0].shape[1], count = in[0].shape[0] * n;
    const double *h = in[0].data, *w = in[2].data, *p = in[3].data;

    for (int64_t i = 0; i < count; i++) {
        k[i] = 0;
        for (int64_t j = 0; j < n; j++)
            k[i] += p[i * n + j] * h[i / n * n + j];
        t += h[i] * k[i] + lambda / (double)n;
    }
    for (int64_t i = 0; i < count; i++)
        ((double *)box.local)[i] = w[i] + *(const double *)in[1].data / t * k[i];
    for (int64_t i = 0; i < count * n; i++)
        ((double *)out[1].data)[i] = (p[i] - k[i / n] * k[i / n / n * n + i % n] / t) / lambda;
    *(double *)out[2].data = nue * lambda + 1 - nue;
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        memcpy((double *)out[0].data + q * count, box.peers[q], (size_t)count * sizeof(double));
    return ctx->barrier(ctx);
}
