/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: uses the input, which belongs to the caller, as scratch memory for the sums. */
#include <pkb/candidate.h>

#include <string.h>

static pkb_symm box;
static size_t half;
static unsigned call;

static int64_t elements(const pkb_tensor *t)
{
    int64_t n = 1;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= t->shape[d];
    return n;
}

static size_t item_size(const pkb_tensor *t)
{
    return t->dtype == PKB_BF16 ? 2 : 4;
}

static double load(const void *data, int dtype, int64_t i)
{
    if (dtype == PKB_F32)
        return ((const float *)data)[i];
    uint32_t word = (uint32_t)((const uint16_t *)data)[i] << 16;
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static void save(void *data, int dtype, int64_t i, double x)
{
    float value = (float)x;
    uint32_t word;
    if (dtype == PKB_F32) {
        ((float *)data)[i] = value;
        return;
    }
    memcpy(&word, &value, sizeof(word));
    ((uint16_t *)data)[i] = (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    (void)out;
    half = (size_t)elements(in) * item_size(in);
    return ctx->symm_alloc(ctx, 2 * half, &box);
}

static void reduce(const pkb_context *ctx, size_t offset, int64_t from, int64_t n, int dtype, void *dst)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int32_t q = 0; q < ctx->world; q++)
            sum += load((const char *)box.peers[q] + offset, dtype, from + i);
        save(dst, dtype, i, sum);
    }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t offset = call++ % 2 * half, block = (size_t)elements(out) * item_size(out);

    memcpy((char *)box.local + offset, in[0].data, half);
    if (ctx->barrier(ctx) != 0)
        return -1;
    reduce(ctx, offset, ctx->rank * elements(out), elements(out), in[0].dtype, in[0].data);
    memcpy(out[0].data, in[0].data, block);
    return 0;
}
