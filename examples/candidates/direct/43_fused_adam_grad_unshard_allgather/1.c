/* SPDX-License-Identifier: Apache-2.0 */
/* One fused step of Adam in f32, whose results are stored at all peers as they come, block by block. */
#include <pkb/candidate.h>

#include <math.h>
#include <string.h>

#define BLOCK 1024

static pkb_symm box; /* two sets of all parameters, used in turn: one barrier per call is enough */
static size_t bytes; /* of a shard */
static unsigned call;

enum { GRADIENT, WEIGHT, FIRST, SECOND }; /* inputs */

struct adam {
    float lr, beta1, beta2, eps;
    float rest1, rest2; /* 1 - beta */
    float bc1, bc2;
};

static float widen(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

/* To nearest even; the data hold no NaN. */
static uint16_t narrow(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof(word));
    return (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

static void load(float *to, const pkb_tensor *t, int64_t at, int64_t n)
{
    if (t->dtype == PKB_BF16)
        for (int64_t i = 0; i < n; i++)
            to[i] = widen(((const uint16_t *)t->data)[at + i]);
    else
        memcpy(to, (const float *)t->data + at, (size_t)n * sizeof(float));
}

/* The step counts on from call to call: nothing of this can be computed in pkb_setup. */
static struct adam settings(const pkb_context *ctx)
{
    double beta1 = pkb_param_value(ctx, "beta1", 0.9), beta2 = pkb_param_value(ctx, "beta2", 0.999);
    double step = pkb_param_value(ctx, "step", 1);
    return (struct adam){
        .lr = (float)pkb_param_value(ctx, "lr", 1e-3),
        .beta1 = (float)beta1,
        .beta2 = (float)beta2,
        .rest1 = (float)(1 - beta1), /* not 1 - (float)beta1, which is another number */
        .rest2 = (float)(1 - beta2),
        .eps = (float)pkb_param_value(ctx, "eps", 1e-8),
        .bc1 = (float)(1 - pow(beta1, step)),
        .bc2 = (float)(1 - pow(beta2, step)),
    };
}

static float updated(const struct adam *a, float w, float g, float m, float v)
{
    m = a->beta1 * m + a->rest1 * g;
    v = a->beta2 * v + a->rest2 * g * g;
    return w - a->lr * (m / a->bc1) / (sqrtf(v / a->bc2) + a->eps);
}

/* Elements at .. at + n of the new shard, n <= BLOCK. */
static void step(const struct adam *a, const pkb_tensor *in, int64_t at, int64_t n, void *dst)
{
    float x[4][BLOCK];
    for (int i = 0; i < 4; i++)
        load(x[i], &in[i], at, n);
    for (int64_t i = 0; i < n; i++)
        x[WEIGHT][i] = updated(a, x[WEIGHT][i], x[GRADIENT][i], x[FIRST][i], x[SECOND][i]);
    if (in[0].dtype == PKB_BF16)
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)dst)[i] = narrow(x[WEIGHT][i]);
    else
        memcpy(dst, x[WEIGHT], (size_t)n * sizeof(float));
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    if (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32)
        return -1;
    bytes = (size_t)in[0].shape[0] * (in[0].dtype == PKB_BF16 ? 2 : 4);
    return ctx->symm_alloc(ctx, 2 * (size_t)ctx->world * bytes, &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    struct adam a = settings(ctx);
    size_t size = in[0].dtype == PKB_BF16 ? 2 : 4, whole = (size_t)ctx->world * bytes;
    size_t offset = call++ % 2 * whole, mine = offset + (size_t)ctx->rank * bytes;
    int64_t total = in[0].shape[0];

    for (int64_t at = 0; at < total; at += BLOCK) {
        int64_t n = total - at < BLOCK ? total - at : BLOCK;
        char *block = (char *)box.local + mine + (size_t)at * size;
        step(&a, in, at, n, block);
        for (int32_t k = 1; k < ctx->world; k++) {
            int32_t q = (ctx->rank + k) % ctx->world;
            memcpy((char *)box.peers[q] + mine + (size_t)at * size, block, (size_t)n * size);
        }
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    memcpy(out[0].data, (const char *)box.local + offset, whole);
    return 0;
}
