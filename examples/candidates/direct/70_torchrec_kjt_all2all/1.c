/* SPDX-License-Identifier: Apache-2.0 */
/* Every rank publishes its lists and where those of each feature begin; owners copy the lists of their features from all
 * ranks, already in the order feature, rank, sample. The three exchanges of the usual program (sizes, lengths, values) are one
 * barrier. */
#include <pkb/candidate.h>

#include <string.h>

enum { LENGTHS, VALUES, KEY_SPLITS, B, WEIGHTS };                                            /* inputs */
enum { LENGTHS_OUT, VALUES_OUT, STRIDE, STRIDE_PER_RANK, N_LENGTHS, N_VALUES, WEIGHTS_OUT }; /* outputs */

static pkb_symm box; /* two sets, used in turn: B, starts of the features, lengths, values, weights */
static size_t starts, lengths, values, weights, set; /* offsets, bytes */
static size_t weight;                                /* bytes of one, 0: there are none */
static unsigned call;

/* The largest of a number over the ranks, for sizes that must be the same everywhere. Collective. */
static int largest(const pkb_context *ctx, int64_t own, int64_t *most)
{
    pkb_symm all;
    if (ctx->symm_alloc(ctx, sizeof(int64_t), &all) != 0)
        return -1;
    *(int64_t *)all.local = own;
    if (ctx->barrier(ctx) != 0)
        return -1;
    *most = 0;
    for (int32_t q = 0; q < ctx->world; q++)
        if (*(const int64_t *)all.peers[q] > *most)
            *most = *(const int64_t *)all.peers[q];
    return 0;
}

/* Shapes have room for the most samples of a rank, and ranks may have different ones. */
int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    static const size_t sizes[] = {[PKB_BF16] = 2, [PKB_F16] = 2, [PKB_F32] = 4, [PKB_F64] = 8};
    int64_t lists, ids;
    (void)out;
    if (largest(ctx, in[LENGTHS].shape[0], &lists) != 0 || largest(ctx, in[VALUES].shape[0], &ids) != 0)
        return -1;
    weight = ctx->n_in > WEIGHTS ? sizes[in[WEIGHTS].dtype] : 0;
    starts = sizeof(int64_t);
    lengths = starts + ((size_t)lists + 1) * sizeof(int64_t); /* there are no more features than lists */
    values = lengths + (size_t)lists * sizeof(int64_t);
    weights = values + (size_t)ids * sizeof(int64_t);
    set = (weights + (size_t)ids * weight + 63) / 64 * 64;
    return ctx->symm_alloc(ctx, 2 * set, &box);
}

static int64_t scalar(const pkb_tensor *t)
{
    return *(const int64_t *)t->data;
}

static void publish(const pkb_tensor *in, int64_t features, char *own)
{
    int64_t samples = scalar(&in[B]), lists = features * samples, total = 0;
    int64_t *start = (int64_t *)(own + starts);
    const int64_t *length = in[LENGTHS].data;
    for (int64_t i = 0; i < lists; i++) {
        if (i % samples == 0)
            *start++ = total;
        total += length[i];
    }
    *start = total;
    *(int64_t *)own = samples;
    memcpy(own + lengths, length, (size_t)lists * sizeof(int64_t));
    memcpy(own + values, in[VALUES].data, (size_t)total * sizeof(int64_t));
    if (weight > 0)
        memcpy(own + weights, in[WEIGHTS].data, (size_t)total * weight);
}

/* Appends the lists of one feature on one rank. */
static void copy_feature(const char *peer, int64_t feature, pkb_tensor *out)
{
    int64_t samples = *(const int64_t *)peer, *n_lengths = out[N_LENGTHS].data, *n_values = out[N_VALUES].data;
    const int64_t *start = (const int64_t *)(peer + starts) + feature;
    size_t first = (size_t)start[0], n = (size_t)(start[1] - start[0]);
    memcpy((int64_t *)out[LENGTHS_OUT].data + *n_lengths, (const int64_t *)(peer + lengths) + feature * samples,
           (size_t)samples * sizeof(int64_t));
    memcpy((int64_t *)out[VALUES_OUT].data + *n_values, (const int64_t *)(peer + values) + first, n * sizeof(int64_t));
    if (weight > 0)
        memcpy((char *)out[WEIGHTS_OUT].data + (size_t)*n_values * weight, peer + weights + first * weight, n * weight);
    *n_lengths += samples;
    *n_values += (int64_t)n;
}

static void write_strides(const pkb_context *ctx, size_t offset, pkb_tensor *out)
{
    int64_t *stride = out[STRIDE].data, *per_rank = out[STRIDE_PER_RANK].data;
    *stride = 0;
    for (int32_t q = 0; q < ctx->world; q++) {
        per_rank[q] = *(const int64_t *)((const char *)box.peers[q] + offset);
        *stride += per_rank[q];
    }
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    const int64_t *splits = in[KEY_SPLITS].data;
    size_t offset = call++ % 2 * set;
    int64_t first = 0, features = 0;

    for (int32_t q = 0; q < ctx->world; q++) {
        first += q < ctx->rank ? splits[q] : 0;
        features += splits[q];
    }
    publish(in, features, (char *)box.local + offset);
    if (ctx->barrier(ctx) != 0)
        return -1;
    *(int64_t *)out[N_LENGTHS].data = *(int64_t *)out[N_VALUES].data = 0;
    for (int64_t f = first; f < first + splits[ctx->rank]; f++)
        for (int32_t q = 0; q < ctx->world; q++)
            copy_feature((const char *)box.peers[q] + offset, f, out);
    write_strides(ctx, offset, out);
    return 0;
}
