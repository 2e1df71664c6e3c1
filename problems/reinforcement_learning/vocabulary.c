/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/reinforcement_learning/vocabulary.h"
#include "problems/axes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Draws of a row; even where one in three is clear, all fail once in 10^11 rows. */
#define MOST_DRAWS 64

/* Streams of random numbers apart from the tensors'. */
enum { STREAM_DRAW = KIT_STREAM, STREAM_RAISED = KIT_STREAM + MOST_DRAWS };

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

int vocabulary_supports(const struct problem_setting *s, struct pkb_error *err)
{
    double top_p = problem_real(s, "top_p");
    if (kit_require_least(s, "V", 1, err) < 0 || kit_require_divisible(s, "V", err) < 0)
        return -1;
    if (!(top_p > 0))
        return pkb_error_set(err, "top_p = %g is not positive", top_p);
    return 0;
}

int64_t vocabulary_sequence(const struct problem_setting *s)
{
    return kit_round_up(problem_int(s, "S"), s->world);
}

int64_t vocabulary_tokens(const struct problem_setting *s)
{
    return problem_int(s, "B") * vocabulary_sequence(s);
}

int64_t vocabulary_width(const struct problem_setting *s)
{
    return problem_int(s, "V") / s->world;
}

static int64_t chunk_positions(const struct problem_setting *s)
{
    int64_t chunk = problem_int(s, "chunk_size"), sequence = vocabulary_sequence(s), world = s->world;
    if (chunk > 0)
        return chunk;
    chunk = kit_round_up(sequence / 4 > world ? sequence / 4 : world, world);
    return chunk < sequence ? chunk : sequence;
}

int vocabulary_supports_chunks(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t chunk = chunk_positions(s), world = s->world;
    if (vocabulary_supports(s, err) < 0)
        return -1;
    if (problem_int(s, "B") % world * (chunk % world) % world != 0)
        return pkb_error_set(err, "B * chunk_size = %lld * %lld tokens are not divisible by %d ranks",
                             (long long)problem_int(s, "B"), (long long)chunk, s->world);
    return 0;
}

int64_t vocabulary_chunk_tokens(const struct problem_setting *s)
{
    return problem_int(s, "B") * chunk_positions(s);
}

int vocabulary_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t batch = problem_int(s, "B"), sequence = vocabulary_sequence(s);
    kit_tensor(&t[VOCABULARY_LOGITS], "logits", s->dtype, RT_SHAPE(batch, sequence, vocabulary_width(s)));
    kit_tensor(&t[VOCABULARY_TARGET], "target", PKB_I64, RT_SHAPE(batch, sequence));
    return VOCABULARY_INPUTS;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* One row of all ranks' logits. */
struct row {
    const struct problem_setting *s;
    const struct problem_inputs *set;
    size_t token, target;
    size_t entries, width; /* of the vocabulary, of a rank */
    double *values;        /* entries */
};

/* Two terms, so that each is rounded to T. */
static void raise_entry(const struct row *row, size_t v, double by)
{
    row->values[v] = kit_rounded(row->s->dtype, row->values[v] + by);
}

static double target_raise(const struct row *row)
{
    static const double raises[] = {8, 4, 2, 0};
    return row->s->inputs == PROFILE_PKB ? 8 : raises[row->token % 4];
}

/* A few entries that hold nearly all of the mass, evenly spaced. */
static void raise_some(const struct row *row)
{
    struct rng rng = problem_rng_shared(row->s, row->set, STREAM_RAISED);
    size_t step = row->entries / 12 > 1 ? row->entries / 12 : 1;
    size_t first = (size_t)rng_integer(&rng, row->token, 0, (int64_t)step);
    if (row->token % 4 == 1)
        first = row->target % step;
    for (size_t v = first; v < row->entries; v += step)
        raise_entry(row, v, log(2.08 * (double)row->entries));
}

static void draw_row(const struct row *row, uint32_t draw)
{
    struct filter f = filter_of(row->s);
    for (size_t q = 0; q < (size_t)row->s->world; q++) {
        struct problem_setting of = kit_as_rank(row->s, (int)q);
        struct rng rng = problem_rng(&of, row->set, draw == 0 ? VOCABULARY_LOGITS : STREAM_DRAW + draw);
        for (size_t i = 0; i < row->width; i++)
            row->values[q * row->width + i] = kit_rounded(row->s->dtype, rng_normal(&rng, row->token * row->width + i));
    }
    if (row->s->inputs == PROFILE_HARDENED && f.top_k == 0 && f.top_p < 1)
        raise_some(row);
    raise_entry(row, row->target, target_raise(row));
}

/* Draws the row until the filter's decision is clear. */
static void draw_clear_row(const struct row *row, double *scratch)
{
    struct filter f = filter_of(row->s);
    for (uint32_t draw = 0; draw < MOST_DRAWS; draw++) {
        draw_row(row, draw);
        memcpy(scratch, row->values, row->entries * sizeof(*scratch));
        if (filter_is_clear(&f, row->s->dtype, scratch, row->entries))
            return;
    }
}

static void init_logits(const struct problem_setting *s, struct problem_inputs *set)
{
    size_t entries = (size_t)problem_int(s, "V"), width = entries / (size_t)s->world;
    size_t tokens = (size_t)vocabulary_tokens(s), bytes = width * dtype_size(s->dtype);
    double *values = kit_scratch(entries), *scratch = kit_scratch(entries);
    const int64_t *target = set->in[VOCABULARY_TARGET].data;
    for (size_t n = 0; n < tokens; n++) {
        struct row row = {s, set, n, (size_t)target[n], entries, width, values};
        draw_clear_row(&row, scratch);
        dtype_from_f64(s->dtype, (char *)set->in[VOCABULARY_LOGITS].data + n * bytes, values + (size_t)s->rank * width, width);
    }
    free(values);
    free(scratch);
}

struct target_recipe {
    struct vocabulary_targets published;
    int64_t trial, vocabulary;
};

static double published_target(const void *arg, size_t n)
{
    const struct target_recipe *t = arg;
    return (double)((t->published.factor * (int64_t)n + t->published.offset + t->trial) % t->vocabulary);
}

void vocabulary_init(const struct problem_setting *s, struct problem_inputs *set, struct vocabulary_targets published)
{
    struct problem_setting shared = kit_as_rank(s, 0);
    struct target_recipe recipe = {published, set->trial, problem_int(s, "V")};
    if (s->inputs == PROFILE_PKB)
        kit_fill_with(&set->in[VOCABULARY_TARGET], published_target, &recipe);
    else
        kit_fill_integers(&shared, set, VOCABULARY_TARGET, 0, recipe.vocabulary - 1);
    init_logits(s, set);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

pkb_tensor *vocabulary_rows(const struct problem_call *c, int64_t first, int64_t count)
{
    int64_t tokens = vocabulary_tokens(c->setting), width = vocabulary_width(c->setting);
    pkb_tensor *logits = rt_view(c->rt, &c->in[VOCABULARY_LOGITS], RT_SHAPE(tokens, width));
    return axes_exchanged(c->rt, c->world, rt_rows(c->rt, logits, first, count), 0, 1);
}

pkb_tensor *vocabulary_own(const struct problem_call *c, const pkb_tensor *per_token, int64_t first, int64_t count)
{
    int64_t share = count / c->world->size;
    pkb_tensor *column = rt_view(c->rt, per_token, RT_SHAPE(vocabulary_tokens(c->setting), 1));
    return rt_rows(c->rt, column, first + c->world->rank * share, share);
}

pkb_tensor *vocabulary_filtered(const struct problem_call *c, const pkb_tensor *rows, const pkb_tensor *keep)
{
    pkb_tensor *filtered = rt_new_like(c->rt, PKB_F32, rows);
    pkb_tensor *nothing = rt_new_like(c->rt, PKB_F32, rows);
    rt_copy(c->rt, filtered, rows);
    rt_fill(c->rt, nothing, -INFINITY);
    rt_where(c->rt, filtered, keep, filtered, nothing);
    return filtered;
}

/* log softmax of filtered rows at one entry each, (rows, 1). */
static pkb_tensor *log_softmax_at(const struct problem_call *c, pkb_tensor *z, const pkb_tensor *entry)
{
    pkb_tensor *largest = rt_new_like(c->rt, PKB_F32, entry);
    pkb_tensor *at = rt_new_like(c->rt, PKB_F32, entry);
    pkb_tensor *sum = rt_new_like(c->rt, PKB_F32, entry);
    rt_reduce_axis(c->rt, RT_AMAX, largest, z, 1);
    rt_binary(c->rt, RT_SUB, z, z, largest);
    rt_take_along(c->rt, at, z, entry);
    rt_unary(c->rt, RT_EXP, z, z);
    rt_reduce_axis(c->rt, RT_SUM, sum, z, 1);
    rt_unary(c->rt, RT_LOG, sum, sum);
    rt_binary(c->rt, RT_SUB, at, at, sum);
    return at;
}

void vocabulary_log_probabilities(const struct problem_call *c, int64_t first, int64_t count)
{
    pkb_tensor *all = rt_view(c->rt, &c->out[0], RT_SHAPE(vocabulary_tokens(c->setting), 1));
    pkb_tensor *rows = vocabulary_rows(c, first, count);
    pkb_tensor *filtered = vocabulary_filtered(c, rows, filter_rows(c, rows));
    pkb_tensor *target = vocabulary_own(c, &c->in[VOCABULARY_TARGET], first, count);
    rt_all_gather(c->rt, c->world, rt_rows(c->rt, all, first, count), log_softmax_at(c, filtered, target));
}

double vocabulary_candidates(const struct problem_setting *s)
{
    double width = (double)vocabulary_width(s), top_k = problem_real(s, "top_k");
    return top_k > 0 ? fmin(width, top_k) : width;
}

int vocabulary_log_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "logprob", PKB_F32, RT_SHAPE(problem_int(s, "B"), vocabulary_sequence(s)));
    return 1;
}

void vocabulary_log_check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 1e-5, .rtol = 1e-6};
}

void vocabulary_log_cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double tokens = (double)vocabulary_tokens(s), width = (double)vocabulary_width(s), size = kit_element(s);
    double others = (s->world - 1.0) / s->world;
    cost->flops = 4 * tokens * width;
    cost->hbm_bytes = size * tokens * width + 8 * tokens + 4 * tokens;
    cost->link_bytes = (size * vocabulary_candidates(s) + 4) * tokens * others;
}
