/* SPDX-License-Identifier: Apache-2.0 */
/* 85 distributed_sample_sort: the values of all ranks in ascending order, cut into equal pieces.
 *
 * Parameters   M, least, step: n_r = max(4 W, least, min(floor(M / W), 4096)) + step * (r mod 3) values on rank r, as a rule. trial: 0,
 *              1, ..., the number of the inputs.
 * Input        local (n_local) of T, different on every rank; n_local of i64, read on the host, may be 0. The form has room for the
 *              most.
 * Output       sorted (n_sorted) of T, different on every rank: with G the Nt values of all ranks in ascending order, base = floor(Nt / W)
 *              and ext = Nt mod W, the base values (base + 1 on ranks r < ext) of G from r * base + min(r, ext) on.
 * One rank     the local values sorted.
 * Steps        parallel sorting by regular sampling: sort locally; every rank with values (there are A) contributes A samples (value,
 *              rank, position), from which all ranks pick the same A - 1 splitters; bucket i between splitters goes to the i-th of these
 *              ranks, which sorts it; the buckets, in order, are moved to the equal pieces. Both exchanges tell the counts first.
 * Arithmetic   none; values move unchanged.
 * Check        exact.
 * Inputs vary  with the number of the trial: integers -50..49 on all ranks (every value on every rank); N(0,1); integers minus r * n_r, so
 *              that ranges are disjoint and in the reverse order of ranks (subtraction in T); one integer per rank; descending within
 *              and across ranks. In sets with an odd number a rank has 0 to 2 n_r values (one of four has none; rank 0 has some),
 *              else n_r. pkb profile: always the third kind with n_r values, but none on odd ranks where trial mod 4 = 3.
 * Ideal cost   for n_r values whose destinations are even.
 */
#include <math.h>

#include "problems/rows.h"

enum { PARAM_M, PARAM_LEAST, PARAM_STEP, PARAM_TRIAL };

static const struct problem_param params[] = {
    [PARAM_M] = {"M", 1024, 37, true, "values over all ranks, as a rule"},
    [PARAM_LEAST] = {"least", 0, 37, true, "values per rank at least"},
    [PARAM_STEP] = {"step", 0, 5, true, "ranks have none, one or two times so many more"},
    [PARAM_TRIAL] = {"trial", 0, 0, true, "number of the inputs"},
};

enum { LOCAL, N_LOCAL };
enum { SORTED, N_SORTED };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_CHOICE = KIT_STREAM };

/* Upstream has at most so many per rank. */
#define MOST_PER_RANK 4096

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t usual_count(const struct problem_setting *s, int rank)
{
    int64_t share = problem_int(s, "M") / s->world, least = larger(4 * (int64_t)s->world, problem_int(s, "least"));
    return larger(least, share < MOST_PER_RANK ? share : MOST_PER_RANK) + problem_int(s, "step") * (rank % 3);
}

static int64_t most_count(const struct problem_setting *s, int rank)
{
    return usual_count(s, rank) * (s->inputs == PROFILE_HARDENED ? 2 : 1);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[LOCAL], "local", s->dtype, RT_SHAPE(most_count(s, s->rank)));
    kit_tensor(&t[N_LOCAL], "n_local", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[LOCAL], N_LOCAL);
    kit_host(&t[N_LOCAL]);
    return 2;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t most = 0;
    for (int q = 0; q < s->world; q++)
        most += most_count(s, q);
    kit_tensor(&t[SORTED], "sorted", s->dtype, RT_SHAPE(kit_divide_up(most, s->world)));
    kit_tensor(&t[N_SORTED], "n_sorted", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[SORTED], N_SORTED);
    return 2;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

enum pattern { SAME_RANGE, NORMAL, DISJOINT_REVERSED, ONE_VALUE, DESCENDING, PATTERN_COUNT };

struct values {
    enum pattern pattern;
    struct rng rng;
    int dtype, rank;
    int64_t count;
    int64_t largest; /* of a descending sequence on this rank */
};

static double value_of(const void *arg, size_t i)
{
    const struct values *v = arg;
    double integer = (double)rng_integer(&v->rng, v->pattern == ONE_VALUE ? 0 : i, -50, 50);
    switch (v->pattern) {
    case NORMAL:
        return rng_normal(&v->rng, i);
    case DISJOINT_REVERSED:
        return kit_rounded(v->dtype, integer) - (double)(v->rank * larger(1, v->count));
    case DESCENDING:
        return (double)(v->largest - (int64_t)i);
    default:
        return integer;
    }
}

static int64_t draw_count(const struct problem_setting *s, const struct problem_inputs *set)
{
    struct rng rng = problem_rng(s, set, STREAM_CHOICE);
    int64_t usual = usual_count(s, s->rank);
    if (s->inputs == PROFILE_PKB)
        return set->trial % 4 == 3 && s->rank % 2 == 1 ? 0 : usual;
    if (set->trial % 2 == 0)
        return usual;
    if (s->rank > 0 && rng_integer(&rng, 0, 0, 4) == 0)
        return 0;
    return rng_integer(&rng, 1, 1, 2 * usual + 1);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    struct values v = {
        .pattern = s->inputs == PROFILE_PKB ? DISJOINT_REVERSED : (enum pattern)(set->trial % PATTERN_COUNT),
        .rng = problem_rng(s, set, LOCAL),
        .dtype = s->dtype,
        .rank = s->rank,
        .count = draw_count(s, set),
    };
    for (int q = s->world - 1; q > s->rank; q--)
        v.largest += most_count(s, q);
    set->params[PARAM_TRIAL] = set->trial;
    *(int64_t *)set->in[N_LOCAL].data = v.count;
    kit_fill_with(&set->in[LOCAL], value_of, &v);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* The ranks that have values. */
struct active {
    pkb_tensor *ranks; /* (A) of i64, ascending */
    int64_t count;     /* A */
    int64_t own;       /* place of this rank among them, -1: it has none */
};

static struct active find_active(const struct problem_call *c, int64_t own_count)
{
    int64_t counts[PROBLEM_MAX_WORLD];
    pkb_tensor *own = rt_new(c->rt, PKB_I64, RT_SHAPE(1));
    pkb_tensor *all = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    struct active active = {.own = -1};
    rt_fill(c->rt, own, (double)own_count);
    rt_all_gather(c->rt, c->world, all, own);
    rt_read_i64(c->rt, counts, all);
    for (int q = 0; q < c->world->size; q++) {
        if (q == c->world->rank && own_count > 0)
            active.own = active.count;
        active.count += counts[q] > 0;
    }
    active.ranks = rows_where(c, all);
    return active;
}

static pkb_tensor *sort(const struct problem_call *c, const pkb_tensor *values)
{
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, values);
    rt_argsort(c->rt, order, values);
    return rows_take(c, values, order);
}

/* Values with the rank (among the active ones) and the position where they are. */
struct samples {
    pkb_tensor *value, *rank, *position;
};

static struct samples new_samples(const struct problem_call *c, int64_t n)
{
    return (struct samples){
        .value = rt_new(c->rt, c->setting->dtype, RT_SHAPE(n)),
        .rank = rt_new(c->rt, PKB_I64, RT_SHAPE(n)),
        .position = rt_new(c->rt, PKB_I64, RT_SHAPE(n)),
    };
}

static struct samples take_samples(const struct problem_call *c, const struct samples *from, const pkb_tensor *index)
{
    return (struct samples){
        .value = rows_take(c, from->value, index),
        .rank = rows_take(c, from->rank, index),
        .position = rows_take(c, from->position, index),
    };
}

/* floor((i + 1) * n / parts) - 1 for i = 0..count-1: the last places of `parts` equal parts of n. */
static pkb_tensor *last_places(const struct problem_call *c, int64_t count, int64_t n, int64_t parts)
{
    pkb_tensor *places = rt_new(c->rt, PKB_I64, RT_SHAPE(count));
    rt_iota(c->rt, places, (double)n, (double)n);
    rt_binary_scalar(c->rt, RT_FLOORDIV, places, places, (double)parts);
    rt_binary_scalar(c->rt, RT_SUB, places, places, 1);
    return places;
}

/* A regular samples of the sorted values; what a rank with fewer values lacks is (infinity, -1, -1). */
static struct samples own_samples(const struct problem_call *c, const struct active *active, const pkb_tensor *sorted)
{
    int64_t n = rows_count(sorted), count = n < active->count ? n : active->count;
    pkb_tensor *positions = count < n ? last_places(c, count, n, active->count) : rows_positions(c, count);
    struct samples own = new_samples(c, active->count);
    rt_fill(c->rt, own.value, INFINITY);
    rt_fill(c->rt, own.rank, -1);
    rt_fill(c->rt, own.position, -1);
    rt_copy(c->rt, rt_rows(c->rt, own.value, 0, count), rows_take(c, sorted, positions));
    rt_fill(c->rt, rt_rows(c->rt, own.rank, 0, count), (double)active->own);
    rt_copy(c->rt, rt_rows(c->rt, own.position, 0, count), positions);
    return own;
}

/* The samples of all ranks in ascending order of (value, rank, position): they come by rank and position, and the sort is stable. */
static struct samples gather_samples(const struct problem_call *c, const struct samples *own, int64_t count)
{
    struct samples all = new_samples(c, c->world->size * count);
    pkb_tensor *there = rt_new_like(c->rt, PKB_I64, all.rank);
    rt_all_gather(c->rt, c->world, all.value, own->value);
    rt_all_gather(c->rt, c->world, all.rank, own->rank);
    rt_all_gather(c->rt, c->world, all.position, own->position);
    rt_binary_scalar(c->rt, RT_GE, there, all.rank, 0);
    all = take_samples(c, &all, rows_where(c, there));
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, all.value);
    rt_argsort(c->rt, order, all.value);
    return take_samples(c, &all, order);
}

static struct samples choose_splitters(const struct problem_call *c, const struct active *active, const pkb_tensor *sorted)
{
    struct samples own = own_samples(c, active, sorted), all = gather_samples(c, &own, active->count);
    pkb_tensor *places = last_places(c, active->count - 1, rows_count(all.value), active->count);
    rt_binary_scalar(c->rt, RT_MAX, places, places, 0);
    return take_samples(c, &all, places);
}

/* How many of the sorted values are not above each splitter, values of lower ranks being below equal ones of higher ranks. As the
 * splitters ascend, so do these. */
static pkb_tensor *bucket_ends(const struct problem_call *c, const struct active *active, const struct samples *splitters,
                               const pkb_tensor *sorted)
{
    pkb_tensor *ends = rt_new_like(c->rt, PKB_I64, splitters->rank);
    pkb_tensor *below = rt_new_like(c->rt, PKB_I64, splitters->rank);
    pkb_tensor *which = rt_new_like(c->rt, PKB_I64, splitters->rank);
    rt_search_sorted(c->rt, ends, sorted, splitters->value, true);
    rt_search_sorted(c->rt, below, sorted, splitters->value, false);
    rt_binary_scalar(c->rt, RT_LT, which, splitters->rank, (double)active->own);
    rt_where(c->rt, ends, which, below, ends);
    rt_binary_scalar(c->rt, RT_ADD, below, splitters->position, 1);
    rt_binary_scalar(c->rt, RT_EQ, which, splitters->rank, (double)active->own);
    rt_where(c->rt, ends, which, below, ends);
    return ends;
}

/* Values per destination (W): bucket i goes to the i-th active rank. */
static pkb_tensor *count_buckets(const struct problem_call *c, const struct active *active, const struct samples *splitters,
                                 const pkb_tensor *sorted)
{
    pkb_tensor *counts = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    pkb_tensor *border = rt_new(c->rt, PKB_I64, RT_SHAPE(1));
    rt_fill(c->rt, counts, 0);
    if (active->own < 0)
        return counts;
    pkb_tensor *ends = bucket_ends(c, active, splitters, sorted);
    rt_fill(c->rt, border, (double)rows_count(sorted));
    pkb_tensor *sizes = rows_append(c, ends, border);
    rt_fill(c->rt, border, 0);
    rt_binary(c->rt, RT_SUB, sizes, sizes, rows_append(c, border, ends));
    rt_put_rows(c->rt, counts, sizes, active->ranks);
    return counts;
}

/* Where in the whole the piece of rank r + shift begins, for all r: (r + shift) * base + min(r + shift, ext). */
static pkb_tensor *piece_borders(const struct problem_call *c, int64_t total, int shift)
{
    int64_t world = c->world->size;
    pkb_tensor *rank = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    pkb_tensor *border = rt_new(c->rt, PKB_I64, RT_SHAPE(world));
    rt_iota(c->rt, rank, shift, 1);
    rt_binary_scalar(c->rt, RT_MUL, border, rank, (double)(total / world));
    rt_binary_scalar(c->rt, RT_MIN, rank, rank, (double)(total % world));
    rt_binary(c->rt, RT_ADD, border, border, rank);
    return border;
}

/* Values per destination (W): what the places first..first+n-1 and each rank's piece have in common. */
static pkb_tensor *count_pieces(const struct problem_call *c, int64_t total, int64_t first, int64_t n)
{
    pkb_tensor *counts = piece_borders(c, total, 1), *start = piece_borders(c, total, 0);
    rt_binary_scalar(c->rt, RT_MIN, counts, counts, (double)(first + n));
    rt_binary_scalar(c->rt, RT_MAX, start, start, (double)first);
    rt_binary(c->rt, RT_SUB, counts, counts, start);
    rt_binary_scalar(c->rt, RT_MAX, counts, counts, 0);
    return counts;
}

static pkb_tensor *exchange(const struct problem_call *c, const pkb_tensor *values, const pkb_tensor *counts)
{
    struct rows_exchange x;
    rows_agree(c, &x, counts);
    return rows_send(c, &x, values);
}

/* From pieces of any size, in the order of ranks, to equal ones. */
static pkb_tensor *balance(const struct problem_call *c, const pkb_tensor *merged)
{
    int64_t sizes[PROBLEM_MAX_WORLD], total = 0, first = 0;
    pkb_tensor *own = rt_new(c->rt, PKB_I64, RT_SHAPE(1));
    pkb_tensor *all = rt_new(c->rt, PKB_I64, RT_SHAPE(c->world->size));
    rt_fill(c->rt, own, (double)rows_count(merged));
    rt_all_gather(c->rt, c->world, all, own);
    rt_read_i64(c->rt, sizes, all);
    for (int q = 0; q < c->world->size; q++) {
        first += q < c->world->rank ? sizes[q] : 0;
        total += sizes[q];
    }
    return exchange(c, merged, count_pieces(c, total, first, rows_count(merged)));
}

static void reference(const struct problem_call *c)
{
    int64_t n = *(const int64_t *)c->in[N_LOCAL].data;
    pkb_tensor *sorted = sort(c, rt_rows(c->rt, &c->in[LOCAL], 0, n));
    struct active active = find_active(c, n);
    if (active.count > 0 && c->world->size > 1) {
        struct samples splitters = choose_splitters(c, &active, sorted);
        pkb_tensor *bucket = exchange(c, sorted, count_buckets(c, &active, &splitters, sorted));
        sorted = balance(c, sort(c, bucket));
    }
    rows_put_counted(c, SORTED, sorted, N_SORTED);
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double own = (double)usual_count(s, s->rank), size = kit_element(s);
    int64_t total = 0;
    for (int q = 0; q < s->world; q++)
        total += usual_count(s, q);
    cost->flops = 0;
    cost->hbm_bytes = size * (own + (double)(total / s->world + (s->rank < total % s->world)));
    cost->link_bytes = size * own * (s->world - 1.0) / s->world;
}

const struct problem problem_85 = {
    .id = 85,
    .name = "85_distributed_sample_sort",
    .family = "scientific",
    .origin = "cuPyNumeric and Legate: parallel sorting by regular sampling",
    .summary =
        "Sort values that are spread over the ranks and return equal contiguous pieces of the sorted sequence, with exchanges "
        "of variable size, duplicates and ranks that have nothing.",
    .source = "problems/scientific/85_distributed_sample_sort.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = kit_check_exact,
    .cost = cost,
};
