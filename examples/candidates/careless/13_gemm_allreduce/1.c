/* SPDX-License-Identifier: Apache-2.0 */
/* Mistake: returns the local product; the all-reduce is forgotten. */
#include <pkb/candidate.h>

#include <string.h>

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

static void multiply(const pkb_tensor *a, const pkb_tensor *b, void *c)
{
    int64_t m = a->shape[0], k = a->shape[1], n = b->shape[1];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += load(a->data, a->dtype, i * k + l) * load(b->data, b->dtype, l * n + j);
            save(c, a->dtype, i * n + j, sum);
        }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    (void)ctx;
    multiply(&in[0], &in[1], out[0].data);
    return 0;
}
