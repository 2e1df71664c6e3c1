/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/context_parallel/forward.h"

#include <math.h>
#include <stdlib.h>

/* All keys and values, shard after shard, and one query with its result. */
struct work {
    const struct forward *f;
    int64_t positions, heads, width; /* S, H, D */
    size_t shard;                    /* elements */
    double *keys, *values;           /* f->n shards */
    double *query, *sum;             /* D each */
};

/* Shard number i of input `tensor` as it is stored on its rank. */
static void load_shard(const struct problem_setting *s, struct problem_inputs *set, const struct work *w, int tensor, int i,
                       double *all)
{
    struct problem_setting there = kit_as_rank(s, w->f->ranks[i]);
    pkb_tensor *t = &set->in[tensor];
    kit_fill_normal(&there, set, tensor);
    dtype_to_f64(t->dtype, all + (size_t)i * w->shard, t->data, w->shard);
}

/* Position `at` of the whole sequence in an array of all shards: D numbers. */
static const double *row_of(const struct work *w, const double *all, int64_t batch, int64_t at, int64_t head)
{
    int64_t in_shard = (batch * w->positions + at % w->positions) * w->heads + head;
    return all + (size_t)(at / w->positions) * w->shard + (size_t)(in_shard * w->width);
}

static double score(const struct work *w, const double *key)
{
    double dot = 0;
    for (int64_t d = 0; d < w->width; d++)
        dot += w->query[d] * key[d];
    return w->f->scale * dot;
}

/* Log of the sum of exp over the first n keys. */
static double log_sum_exp(const struct work *w, int64_t batch, int64_t head, int64_t n)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double x = score(w, row_of(w, w->keys, batch, j, head));
        double more = fmax(largest, x);
        sum = sum * exp(largest - more) + exp(x - more);
        largest = more;
    }
    return largest + log(sum);
}

static void add_values(const struct work *w, int64_t batch, int64_t head, int64_t n, double lse)
{
    for (int64_t d = 0; d < w->width; d++)
        w->sum[d] = 0;
    for (int64_t j = 0; j < n; j++) {
        const double *value = row_of(w, w->values, batch, j, head);
        double p = exp(score(w, row_of(w, w->keys, batch, j, head)) - lse);
        for (int64_t d = 0; d < w->width; d++)
            w->sum[d] += p * value[d];
    }
}

/* One query of one head. */
static void attend(const struct work *w, struct problem_inputs *set, int64_t batch, int64_t i, int64_t head)
{
    const pkb_tensor *q = &set->in[w->f->q];
    pkb_tensor *out = &set->in[w->f->out], *lse = &set->in[w->f->lse];
    size_t row = (size_t)((batch * w->positions + i) * w->heads + head) * (size_t)w->width;
    size_t number = (size_t)((batch * w->heads + head) * w->positions + i);
    int64_t all = w->f->n * w->positions, n = w->f->visible + i < all ? w->f->visible + i : all;
    dtype_to_f64(q->dtype, w->query, (const char *)q->data + row * dtype_size(q->dtype), (size_t)w->width);
    double total = log_sum_exp(w, batch, head, n);
    add_values(w, batch, head, n, total);
    dtype_from_f64(out->dtype, (char *)out->data + row * dtype_size(out->dtype), w->sum, (size_t)w->width);
    dtype_from_f64(lse->dtype, (char *)lse->data + number * dtype_size(lse->dtype), &total, 1);
}

void forward_fill(const struct problem_setting *s, struct problem_inputs *set, const struct forward *f)
{
    const pkb_tensor *q = &set->in[f->q];
    size_t shard = kit_numel(q), all = (size_t)f->n * shard, width = (size_t)q->shape[3];
    double *scratch = kit_scratch(2 * all + 2 * width);
    struct work w = {
        f, q->shape[1], q->shape[2], q->shape[3], shard, scratch, scratch + all, scratch + 2 * all, scratch + 2 * all + width};
    for (int i = 0; i < f->n; i++) {
        load_shard(s, set, &w, f->k, i, w.keys);
        load_shard(s, set, &w, f->v, i, w.values);
    }
    kit_fill_normal(s, set, f->k);
    kit_fill_normal(s, set, f->v);
    for (int64_t row = 0; row < q->shape[0] * w.positions * w.heads; row++)
        attend(&w, set, row / w.heads / w.positions, row / w.heads % w.positions, row % w.heads);
    free(scratch);
}
