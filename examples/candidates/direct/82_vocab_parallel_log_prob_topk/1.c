/* SPDX-License-Identifier: Apache-2.0 */
/* Only what can be kept travels: with top-k every rank sends its k best entries of a row (and those that tie with the last)
 * and the target's logit to the rank that owns the token, which filters them and stores the result at all peers. */
#include <pkb/candidate.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a rank sends of one row: the logit of the target, or -infinity where another rank has it; then the entries, descending. */
struct part {
    int64_t count;
    float target;
    float entries[];
};

static pkb_symm inbox;   /* [rank][slice]: parts of the own tokens */
static pkb_symm results; /* of all tokens */
static size_t part_size; /* bytes */
static int64_t slice;    /* tokens that a rank owns */
static float *row;       /* the entries of one row */

static float get(const pkb_tensor *t, int64_t i)
{
    uint32_t word;
    float value;
    if (t->dtype != PKB_BF16)
        return ((const float *)t->data)[i];
    word = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* Entries of a descending list that are at least as large as the k-th; all of them for k = 0. */
static int64_t at_least_kth(const float *list, int64_t n, int64_t k)
{
    int64_t kept = k;
    if (k == 0 || k >= n)
        return n;
    while (kept < n && list[kept] == list[k - 1])
        kept++;
    return kept;
}

/* Of a descending list what top-p leaves: entries whose sum with all smaller ones is above 1 - p, and the first one always. */
static int64_t within_mass(const float *list, int64_t n, double p)
{
    double total = 0, sum = 0;
    int64_t kept = n;
    if (p >= 1)
        return n;
    for (int64_t j = 0; j < n; j++)
        total += exp((double)list[j] - list[0]);
    for (; kept > 1; kept--) {
        sum += exp((double)list[kept - 1] - list[0]);
        if (sum > (1 - p) * total)
            break;
    }
    return kept;
}

static struct part *part_at(void *block, int32_t rank, int64_t token)
{
    return (struct part *)((char *)block + (size_t)(rank * slice + token) * part_size);
}

static void send_row(const pkb_context *ctx, const pkb_tensor *logits, int64_t token, int64_t target, int64_t top_k)
{
    int64_t n = logits->shape[2];
    struct part *to = part_at(inbox.peers[token / slice], ctx->rank, token % slice);
    for (int64_t v = 0; v < n; v++)
        row[v] = get(logits, token * n + v);
    to->target = target >= 0 && target < n ? row[target] : -INFINITY;
    qsort(row, (size_t)n, sizeof(*row), descending);
    to->count = at_least_kth(row, n, top_k);
    memcpy(to->entries, row, (size_t)to->count * sizeof(*row));
}

static float log_probability(const pkb_context *ctx, int64_t token, int64_t top_k, double top_p)
{
    float target = -INFINITY;
    int64_t n = 0;
    double sum = 0;
    for (int32_t q = 0; q < ctx->world; q++) {
        const struct part *p = part_at(inbox.local, q, token);
        memcpy(row + n, p->entries, (size_t)p->count * sizeof(*row));
        n += p->count;
        target = fmaxf(target, p->target);
    }
    qsort(row, (size_t)n, sizeof(*row), descending);
    n = within_mass(row, at_least_kth(row, n, top_k), top_p);
    if (target < row[n - 1])
        return -INFINITY;
    for (int64_t j = 0; j < n; j++)
        sum += exp((double)row[j] - row[0]);
    return (float)((double)target - row[0] - log(sum));
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    int64_t tokens = out[0].shape[0] * out[0].shape[1], n = in[0].shape[2];
    slice = tokens / ctx->world; /* the sequence is rounded up to a multiple of the ranks */
    part_size = sizeof(struct part) + (size_t)n * sizeof(float);
    part_size = (part_size + 63) / 64 * 64;
    row = malloc((size_t)(n * ctx->world) * sizeof(*row));
    if (!row || (in[0].dtype != PKB_BF16 && in[0].dtype != PKB_F32))
        return -1;
    if (ctx->symm_alloc(ctx, (size_t)tokens * part_size, &inbox) != 0)
        return -1;
    return ctx->symm_alloc(ctx, (size_t)tokens * sizeof(float), &results);
}

void pkb_teardown(const pkb_context *ctx)
{
    (void)ctx;
    free(row);
}

/* Two barriers, one after each phase: what a phase overwrites, nobody reads any more. */
int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    int64_t tokens = slice * ctx->world, top_k = (int64_t)pkb_param_value(ctx, "top_k", 0);
    double top_p = pkb_param_value(ctx, "top_p", 1);
    const int64_t *target = in[1].data;

    for (int64_t t = 0; t < tokens; t++)
        send_row(ctx, &in[0], t, target[t] - ctx->rank * in[0].shape[2], top_k);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int64_t t = 0; t < slice; t++) {
        float value = log_probability(ctx, t, top_k, top_p);
        for (int32_t q = 0; q < ctx->world; q++)
            ((float *)results.peers[q])[ctx->rank * slice + t] = value;
    }
    if (ctx->barrier(ctx) != 0)
        return -1;
    memcpy(out[0].data, results.local, (size_t)tokens * sizeof(float));
    return 0;
}
