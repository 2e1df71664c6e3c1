/* SPDX-License-Identifier: Apache-2.0 */
/* 79 dinov2_distributed_knn: the most similar training vectors, spread over all ranks, of every rank's queries.
 *
 * Parameters   Q: queries per rank. rows, least: n = max(least, floor(rows / W)) training vectors per rank. d: features. max_k: neighbours
 *              k, at most n. nc: classes.
 * Inputs       test (Q, d) of T; trainT (d, n) of T, the training vectors in its columns; labels (1, n) of i64; all different on every
 *              rank.
 * Outputs      sims (Q, k) of T and labels_k (Q, k) of i64, different on every rank: for each own query the k largest of the similarities
 *              test * trainT, rounded to T, to the W*n training vectors of all ranks, descending, and the labels of those vectors.
 *              The reference takes the vector of the lower rank, then position, first where similarities are equal.
 * Steps        for each rank in turn: its queries go to all (shape first), every rank selects its k best, these come back with their
 *              labels, and k of the W*k are selected.
 * One rank     the selection twice.
 * Arithmetic   f32 accumulation (f64 for f64), rounded to T before the selection.
 * Check        of its own, since rounding makes ties all over, also at the k-th place. With the exact similarities e of a query (f64) and
 *              the tolerance t at a similarity v of 2^-8 |v| + 1e-3 for bf16, 2^-11 |v| + 1e-4 for f16, 1e-5 for f32, 1e-9 for f64:
 *              sims do not ascend and sims[i] is within t of the i-th largest e; there is a training vector with label labels_k[i]
 *              and e within t of sims[i]; and with tau = sims[k-1] every label occurs at least as often as among the vectors with
 *              e > tau + t, at most as often as among those with e >= tau - t.
 * Inputs       rows of N(0,1) rounded to bf16, divided by their norm, rounded to bf16; labels uniform in 0..nc-1. pkb profile: label j of
 *              rank r is (r n + j) mod nc.
 */
#include <math.h>

#include "problems/expert_parallel/routing.h"

static const struct problem_param params[] = {
    {"Q", 32, 4, true, "queries per rank"},
    {"rows", 16384, 40, true, "training vectors over all ranks, as a rule"},
    {"least", 1024, 40, true, "training vectors per rank at least"},
    {"d", 384, 16, true, "features"},
    {"max_k", 200, 5, true, "neighbours"},
    {"nc", 1000, 13, true, "classes"},
};

enum { TEST, TRAIN, LABELS };
enum { SIMS, LABELS_K };

/* Per query: all exact similarities in descending order, and the labels of the vectors. */
enum { EXACT, EXACT_LABELS };

static int64_t vectors(const struct problem_setting *s)
{
    return kit_share(s, "rows", "least");
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t k = problem_int(s, "max_k"), n = vectors(s);
    if (kit_require_least(s, "d", 1, err) < 0 || kit_require_least(s, "nc", 1, err) < 0)
        return -1;
    if (k > n)
        return pkb_error_set(err, "max_k = %lld is more than the %lld training vectors of a rank", (long long)k, (long long)n);
    return 0;
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[TEST], "test", s->dtype, RT_SHAPE(problem_int(s, "Q"), problem_int(s, "d")));
    kit_tensor(&t[TRAIN], "trainT", s->dtype, RT_SHAPE(problem_int(s, "d"), vectors(s)));
    kit_tensor(&t[LABELS], "labels", PKB_I64, RT_SHAPE(1, vectors(s)));
    return 3;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[SIMS], "sims", s->dtype, RT_SHAPE(problem_int(s, "Q"), problem_int(s, "max_k")));
    kit_tensor(&t[LABELS_K], "labels_k", PKB_I64, RT_SHAPE(problem_int(s, "Q"), problem_int(s, "max_k")));
    return 2;
}

static int evidence(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t all = s->world * vectors(s);
    kit_tensor(&t[EXACT], "exact", PKB_F64, RT_SHAPE(problem_int(s, "Q"), all));
    kit_tensor(&t[EXACT_LABELS], "exact_labels", PKB_I64, RT_SHAPE(problem_int(s, "Q"), all));
    return 2;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* Vector v, feature f lies at v * vector_step + f * feature_step. */
static void fill_vectors(const struct problem_setting *s, struct problem_inputs *set, int tensor, int64_t count,
                         const int64_t step[2])
{
    struct rng rng = problem_rng(s, set, (uint32_t)tensor);
    const pkb_tensor *t = &set->in[tensor];
    int64_t width = problem_int(s, "d");
    for (int64_t v = 0; v < count; v++) {
        double sum = 0;
        for (int64_t f = 0; f < width; f++) {
            double x = kit_rounded(PKB_BF16, rng_normal(&rng, (uint64_t)(v * width + f)));
            sum += x * x;
        }
        for (int64_t f = 0; f < width; f++) {
            double x = kit_rounded(PKB_BF16, rng_normal(&rng, (uint64_t)(v * width + f)));
            x = kit_rounded(PKB_BF16, x / fmax(sqrt(sum), 1e-12));
            dtype_from_f64(t->dtype, (char *)t->data + (size_t)(v * step[0] + f * step[1]) * dtype_size(t->dtype), &x, 1);
        }
    }
}

struct classes {
    int64_t first, count;
};

static double published_label(const void *arg, size_t i)
{
    const struct classes *c = arg;
    return (double)((c->first + (int64_t)i) % c->count);
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t n = vectors(s);
    struct classes classes = {s->rank * n, problem_int(s, "nc")};
    fill_vectors(s, set, TEST, problem_int(s, "Q"), (const int64_t[]){problem_int(s, "d"), 1});
    fill_vectors(s, set, TRAIN, n, (const int64_t[]){1, n});
    if (s->inputs == PROFILE_HARDENED)
        kit_fill_integers(s, set, LABELS, 0, classes.count - 1);
    else
        kit_fill_with(&set->in[LABELS], published_label, &classes);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* The largest similarities of some queries, and the labels of the vectors. */
struct neighbours {
    pkb_tensor *sims, *labels;
};

/* The queries of a rank, on all ranks: first their shape, then they. */
static pkb_tensor *broadcast_queries(const struct problem_call *c, int owner)
{
    int64_t sizes[2];
    pkb_tensor *shape = rt_new(c->rt, PKB_I64, RT_SHAPE(2));
    for (int i = 0; i < 2; i++)
        rt_fill(c->rt, rt_entry(c->rt, shape, i), (double)c->in[TEST].shape[i]);
    rt_broadcast(c->rt, c->world, shape, owner);
    rt_read_i64(c->rt, sizes, shape);
    pkb_tensor *queries = rt_new(c->rt, c->setting->dtype, RT_SHAPE(sizes[0], sizes[1]));
    if (owner == c->world->rank)
        rt_copy(c->rt, queries, &c->in[TEST]);
    rt_broadcast(c->rt, c->world, queries, owner);
    return queries;
}

/* The k best of this rank's vectors for the queries. */
static struct neighbours search(const struct problem_call *c, const pkb_tensor *queries)
{
    int64_t q = c->out[SIMS].shape[0], k = c->out[SIMS].shape[1], n = c->in[TRAIN].shape[1];
    struct neighbours best = {rt_new(c->rt, c->setting->dtype, RT_SHAPE(q, k)), rt_new(c->rt, PKB_I64, RT_SHAPE(q, k))};
    pkb_tensor *sims = rt_new(c->rt, c->setting->dtype, RT_SHAPE(q, n));
    rt_matmul(c->rt, sims, queries, false, &c->in[TRAIN], false);
    pkb_tensor *index = moe_top_k(c, sims, q, n, k);
    rt_take_along(c->rt, best.sims, sims, index);
    rt_take_rows(c->rt, rt_view(c->rt, best.labels, RT_SHAPE(q * k)), rt_view(c->rt, &c->in[LABELS], RT_SHAPE(n)),
                 rt_view(c->rt, index, RT_SHAPE(q * k)));
    return best;
}

/* On the owner: what all ranks have found side by side, (Q, W*k); elsewhere NULL. */
static pkb_tensor *gather_found(const struct problem_call *c, const pkb_tensor *found, int dtype, int owner)
{
    int64_t world = c->world->size, q = c->out[SIMS].shape[0], k = c->out[SIMS].shape[1];
    pkb_tensor *all = NULL, *joined = NULL;
    if (owner == c->world->rank)
        all = rt_new(c->rt, dtype, RT_SHAPE(world, q, k));
    rt_gather(c->rt, c->world, all, found, owner);
    if (owner != c->world->rank)
        return NULL;
    joined = rt_new(c->rt, dtype, RT_SHAPE(q, world, k));
    rt_permute(c->rt, joined, all, (const int[]){1, 0, 2});
    return rt_view(c->rt, joined, RT_SHAPE(q, world * k));
}

static void reference(const struct problem_call *c)
{
    int64_t q = c->out[SIMS].shape[0], k = c->out[SIMS].shape[1];
    for (int owner = 0; owner < c->world->size; owner++) {
        struct neighbours found = search(c, broadcast_queries(c, owner));
        pkb_tensor *sims = gather_found(c, found.sims, c->setting->dtype, owner);
        pkb_tensor *labels = gather_found(c, found.labels, PKB_I64, owner);
        if (owner != c->world->rank)
            continue;
        pkb_tensor *index = moe_top_k(c, sims, q, c->world->size * k, k);
        rt_take_along(c->rt, &c->out[SIMS], sims, index);
        rt_take_along(c->rt, &c->out[LABELS_K], labels, index);
    }
}

/* ---- check --------------------------------------------------------------------------------------------------------- */

/* The exact similarities of the own queries to all vectors, (Q, W*n). */
static pkb_tensor *exact_similarities(const struct problem_call *c)
{
    int64_t world = c->world->size, q = c->in[TEST].shape[0], d = c->in[TEST].shape[1], n = c->in[TRAIN].shape[1];
    pkb_tensor *queries = rt_new(c->rt, c->setting->dtype, RT_SHAPE(world, q, d));
    pkb_tensor *wide = rt_new(c->rt, PKB_F64, RT_SHAPE(world * q, d));
    pkb_tensor *train = rt_new_like(c->rt, PKB_F64, &c->in[TRAIN]);
    pkb_tensor *sims = rt_new(c->rt, PKB_F64, RT_SHAPE(world * q, n));
    pkb_tensor *own = rt_new(c->rt, PKB_F64, RT_SHAPE(world, q, n));
    pkb_tensor *joined = rt_new(c->rt, PKB_F64, RT_SHAPE(q, world, n));
    rt_all_gather(c->rt, c->world, queries, &c->in[TEST]);
    rt_copy(c->rt, wide, queries);
    rt_copy(c->rt, train, &c->in[TRAIN]);
    rt_matmul(c->rt, sims, wide, false, train, false);
    rt_all_to_all(c->rt, c->world, own, sims);
    rt_permute(c->rt, joined, own, (const int[]){1, 0, 2});
    return rt_view(c->rt, joined, RT_SHAPE(q, world * n));
}

static void bound(const struct problem_call *c, pkb_tensor *const *tol)
{
    pkb_tensor *exact = tol[2 + EXACT], *labels = tol[2 + EXACT_LABELS];
    if (!exact || !labels)
        return;
    pkb_tensor *all_labels = rt_new(c->rt, PKB_I64, RT_SHAPE(exact->shape[1]));
    pkb_tensor *order = rt_new_like(c->rt, PKB_I64, exact);
    pkb_tensor *sims = exact_similarities(c);
    rt_all_gather(c->rt, c->world, all_labels, &c->in[LABELS]);
    rt_unary(c->rt, RT_NEG, sims, sims);
    rt_argsort(c->rt, order, sims);
    rt_take_along(c->rt, exact, sims, order);
    rt_unary(c->rt, RT_NEG, exact, exact);
    rt_take_rows(c->rt, rt_view(c->rt, labels, RT_SHAPE(exact->shape[0] * exact->shape[1])), all_labels,
                 rt_view(c->rt, order, RT_SHAPE(exact->shape[0] * exact->shape[1])));
}

static double tolerance_at(int dtype, double v)
{
    switch (dtype) {
    case PKB_BF16:
        return fabs(v) / 256 + 1e-3;
    case PKB_F16:
        return fabs(v) / 2048 + 1e-4;
    case PKB_F32:
        return 1e-5;
    default:
        return 1e-9;
    }
}

/* A query as it is judged. */
struct query {
    int dtype;
    int64_t k, all;
    const double *exact;         /* (all), descending */
    const int64_t *exact_labels; /* (all) */
    const pkb_tensor *sims;      /* under judgement */
    const int64_t *labels;       /* (k), under judgement */
    int64_t row;
};

static struct query get_query(const struct problem_evidence *e, int64_t row)
{
    struct query q = {
        .dtype = e->actual[SIMS].dtype,
        .k = e->actual[SIMS].shape[1],
        .all = e->evidence[EXACT].shape[1],
        .sims = &e->actual[SIMS],
        .row = row,
    };
    q.exact = (const double *)e->evidence[EXACT].data + row * q.all;
    q.exact_labels = (const int64_t *)e->evidence[EXACT_LABELS].data + row * q.all;
    q.labels = (const int64_t *)e->actual[LABELS_K].data + row * q.k;
    return q;
}

static double similarity(const struct query *q, int64_t i)
{
    double value;
    dtype_to_f64(q->dtype, &value, (const char *)q->sims->data + (size_t)(q->row * q->k + i) * dtype_size(q->dtype), 1);
    return value;
}

static bool similarity_ok(const struct query *q, int64_t i)
{
    double value = similarity(q, i);
    return fabs(value - q->exact[i]) <= tolerance_at(q->dtype, q->exact[i]) && (i == 0 || value <= similarity(q, i - 1));
}

static int64_t occurrences(const int64_t *labels, int64_t n, int64_t label)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += labels[i] == label;
    return count;
}

/* How many of the exact similarities are at least v. */
static int64_t count_from(const struct query *q, double v)
{
    int64_t n = 0;
    while (n < q->all && q->exact[n] >= v)
        n++;
    return n;
}

/* A vector with the label is as similar as it is said to be, and the label does not occur too often. */
static bool label_ok(const struct query *q, int64_t i)
{
    double value = similarity(q, i), t = tolerance_at(q->dtype, value), last = similarity(q, q->k - 1);
    int64_t first = count_from(q, nextafter(value + t, INFINITY)), end = count_from(q, value - t);
    int64_t allowed = count_from(q, last - tolerance_at(q->dtype, last));
    return occurrences(q->exact_labels + first, end - first, q->labels[i]) > 0 &&
           occurrences(q->labels, q->k, q->labels[i]) <= occurrences(q->exact_labels, allowed, q->labels[i]);
}

/* Every label occurs as often as among the vectors that are clearly among the k best. */
static bool all_labels_there(const struct query *q)
{
    double last = similarity(q, q->k - 1);
    int64_t clear = count_from(q, nextafter(last + tolerance_at(q->dtype, last), INFINITY));
    for (int64_t g = 0; g < clear; g++) {
        if (occurrences(q->labels, q->k, q->exact_labels[g]) < occurrences(q->exact_labels, clear, q->exact_labels[g]))
            return false;
    }
    return true;
}

/* Labels are judged only beside similarities that are right: then the vectors in question are few. */
static bool row_ok(const struct query *q)
{
    for (int64_t i = 0; i < q->k; i++) {
        if (!similarity_ok(q, i))
            return false;
    }
    return all_labels_there(q);
}

static void verify(const struct problem_evidence *e, int output, struct problem_difference *d)
{
    int64_t rows = e->actual[SIMS].shape[0], k = e->actual[SIMS].shape[1];
    for (int64_t row = 0; row < rows; row++) {
        struct query q = get_query(e, row);
        bool judged = output == SIMS || row_ok(&q);
        for (int64_t i = 0; i < k; i++) {
            bool ok = output == SIMS ? similarity_ok(&q, i) : judged && label_ok(&q, i);
            problem_difference_add(d, &e->expected[output], &e->actual[output], (size_t)(row * k + i), ok);
        }
    }
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s, (void)output;
    *check = (struct problem_check){.kind = CHECK_OWN};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double q = problem_real(s, "Q"), n = (double)vectors(s), d = problem_real(s, "d"), k = problem_real(s, "max_k");
    double size = kit_element(s), world = s->world;
    cost->flops = 2 * world * q * n * d;
    cost->hbm_bytes = size * (d * n + world * q * d) + 8 * n + q * k * (size + 8);
    cost->link_bytes = (world - 1) * q * (d * size + k * (size + 8));
}

const struct problem problem_79 = {
    .id = 79,
    .name = "79_dinov2_distributed_knn",
    .family = "vision",
    .origin = "DINOv2: evaluation by the nearest neighbours among training features that are spread over the ranks",
    .summary =
        "Compare every rank's query features with the training features of all ranks and return the largest similarities and "
        "the labels of those neighbours to the rank that asks.",
    .source = "problems/vision/79_dinov2_distributed_knn.c",
    .worlds = "any",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .bound = bound,
    .evidence = evidence,
    .verify = verify,
    .check = check,
    .cost = cost,
};
