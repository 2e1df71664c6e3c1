/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: reads the number of the step once, in pkb_setup; parameters may be others in every call. */
#include <pkb/candidate.h>

#include <math.h>
#include <string.h>

static pkb_symm box; /* two shards of new parameters, used in turn */
static size_t bytes; /* of one */
static unsigned call;
static double lr, beta1, beta2, eps, bc1, bc2;

static double get(const pkb_tensor *t, int64_t i)
{
    uint32_t word;
    float value;
    if (t->dtype != PKB_BF16)
        return ((const float *)t->data)[i];
    word = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    memcpy(&value, &word, sizeof(value));
    return value;
}

/* To nearest even; the data hold no NaN. */
static void put(void *data, int64_t i, float value, int dtype)
{
    uint32_t word;
    if (dtype == PKB_BF16) {
        memcpy(&word, &value, sizeof(word));
        ((uint16_t *)data)[i] = (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
    } else {
        ((float *)data)[i] = value;
    }
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    double step = pkb_param_value(ctx, "step", 1);
    (void)out;
    lr = pkb_param_value(ctx, "lr", 1e-3);
    beta1 = pkb_param_value(ctx, "beta1", 0.9);
    beta2 = pkb_param_value(ctx, "beta2", 0.999);
    eps = pkb_param_value(ctx, "eps", 1e-8);
    bc1 = 1 - pow(beta1, step);
    bc2 = 1 - pow(beta2, step);
    if (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32)
        return -1;
    bytes = (size_t)in[0].shape[0] * (in[0].dtype == PKB_BF16 ? 2 : 4);
    return ctx->symm_alloc(ctx, 2 * bytes, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * bytes;

    for (int64_t i = 0; i < in[0].shape[0]; i++) {
        double g = get(&in[0], i), w = get(&in[1], i), m = get(&in[2], i), v = get(&in[3], i);
        m = beta1 * m + (1 - beta1) * g;
        v = beta2 * v + (1 - beta2) * g * g;
        w -= lr * (m / bc1) / (sqrt(v / bc2) + eps);
        put((char *)box.local + offset, i, (float)w, in[0].dtype);
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        memcpy((char *)out[0].data + (size_t)q * bytes, (const char *)box.peers[q] + offset, bytes);
    return 0;
}
