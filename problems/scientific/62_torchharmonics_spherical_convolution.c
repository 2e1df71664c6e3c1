/* SPDX-License-Identifier: Apache-2.0 */
/* 62 torchharmonics_spherical_convolution: a discrete-continuous convolution on the sphere, on a grid of latitudes and longitudes that is
 * spread over a grid of ranks.
 *
 * Parameters   B: samples. Cin, Cout: channels in and out. groups: groups of channels G. K: basis functions of the filter. nlat:
 *              latitudes before rounding up to a multiple of P. E: entries of the stencil per basis function and latitude
 *              (hardened: on average, 0 to 2E).
 * Ranks        A = 2 azimuth ranks if W is even, else 1; P = W / A polar ranks. Rank r has polar index p = floor(r / A) and azimuth index
 *              a = r mod A. Azimuth group: the ranks with the same p; polar group: those with the same a. A rank has the hl = nlat / P
 *              latitudes from p*hl on and the wl = nlon / A longitudes from a*wl on, nlon = 2 nlat.
 * Inputs       all different on every rank, of f32 for every T where not said otherwise: x (B, Cin, hl, wl); psi, sparse, of shape (K,
 *              nlat, hl*nlon): psi_indices (3, n) of i64, its columns (k, h, l*nlon + j) sorted, and psi_values (n), n of i64 read on the
 *              host (n_psi_values); behind the n entries both have zeros. weight (Cout, Cin/G, K); bias (Cout).
 * Output       out (B, Cout, hl, wl) of f32, different on every rank:
 *              1. all-to-all in the azimuth group: xf (B, Cin/A, hl, nlon), channels a*Cin/A.., all longitudes.
 *              2. y[b, c, k, h, q] = sum over the entries (k, h, l*nlon + j) of psi of value * xf[b, c, l, (j + q) mod nlon], for all
 *                 nlat latitudes h, longitudes q.
 *              3. y summed over the polar group, of which the own latitudes stay.
 *              4. all-to-all in the azimuth group: Y, all channels, the own longitudes.
 *              5. out[b, g*Cout/G + o, h, q] = bias + sum over c < Cin/G, k of Y[b, g*Cin/G + c, k, h, q] *
 *                 weight[g*Cout/G + o, c, k].
 * One rank     no exchange; none in the azimuth group for odd W, none in the polar group for W <= 2.
 * Arithmetic   f32, sums in any order.
 * Check        |out - outc| <= 1e-4 + 1e-4 |outc|.
 * Inputs       x, weight, bias N(0,1); values 0.05 N(0,1). Of every (k, h) 0 to 2E entries with different random j, l random. pkb
 *              profile: E entries, l = h mod hl, j = (h + e (k + 1)) mod nlon for e < E.
 * Ideal cost   for E entries; the least of the two link costs: exchanging as above, or every rank with all x and psi.
 */
#include <math.h>
#include <stdlib.h>

#include "problems/axes.h"

static const struct problem_param params[] = {
    {"B", 32, 2, true, "samples"},
    {"Cin", 8, 4, true, "channels in"},
    {"Cout", 8, 4, true, "channels out"},
    {"groups", 1, 1, true, "groups of channels"},
    {"K", 3, 3, true, "basis functions"},
    {"nlat", 128, 8, true, "latitudes before rounding up to a multiple of P"},
    {"E", 4, 4, true, "stencil entries per basis function and latitude"},
};

enum { X, PSI_INDICES, PSI_VALUES, WEIGHT, BIAS, N_PSI_VALUES };

/* Streams of random numbers apart from the tensors. */
enum { STREAM_COUNTS = KIT_STREAM, STREAM_COLUMNS };

/* ---- sizes --------------------------------------------------------------------------------------------------------- */

/* Ranks and grid. */
struct grid {
    int azimuth, polar; /* A, P */
    int a, p;
    int64_t nlat, nlon, hl, wl;
};

static struct grid grid_of(const struct problem_setting *s)
{
    struct grid g = {.azimuth = s->world % 2 == 0 ? 2 : 1};
    g.polar = s->world / g.azimuth;
    g.a = s->rank % g.azimuth;
    g.p = s->rank / g.azimuth;
    g.hl = kit_divide_up(problem_int(s, "nlat"), g.polar);
    g.nlat = g.hl * g.polar;
    g.nlon = 2 * g.nlat;
    g.wl = g.nlon / g.azimuth;
    return g;
}

static int64_t most_entries_per_row(const struct problem_setting *s)
{
    return problem_int(s, "E") * (s->inputs == PROFILE_HARDENED ? 2 : 1);
}

static int64_t most_entries(const struct problem_setting *s)
{
    return problem_int(s, "K") * grid_of(s).nlat * most_entries_per_row(s);
}

static int require_multiple(const struct problem_setting *s, const char *name, int64_t divisor, struct pkb_error *err)
{
    int64_t value = problem_int(s, name);
    if (value % divisor != 0)
        return pkb_error_set(err, "%s = %lld is not divisible by %lld", name, (long long)value, (long long)divisor);
    return 0;
}

/* Entries of a row of psi have different columns. */
static int require_room(const struct problem_setting *s, struct pkb_error *err)
{
    int64_t entries = problem_int(s, "E"), nlon = grid_of(s).nlon, functions = problem_int(s, "K");
    if (2 * entries > nlon || (entries - 1) * functions >= nlon)
        return pkb_error_set(err, "E = %lld entries do not fit onto %lld longitudes", (long long)entries, (long long)nlon);
    return 0;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    static const char *const sizes[] = {"groups", "K", "nlat", "E"};
    for (int i = 0; i < KIT_COUNT(sizes); i++) {
        if (kit_require_least(s, sizes[i], 1, err) < 0)
            return -1;
    }
    int64_t groups = problem_int(s, "groups");
    if (require_multiple(s, "Cin", grid_of(s).azimuth, err) < 0 || require_multiple(s, "Cin", groups, err) < 0 ||
        require_multiple(s, "Cout", groups, err) < 0)
        return -1;
    return require_room(s, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct grid g = grid_of(s);
    int64_t in = problem_int(s, "Cin"), out = problem_int(s, "Cout"), k = problem_int(s, "K");
    kit_tensor(&t[X], "x", PKB_F32, RT_SHAPE(problem_int(s, "B"), in, g.hl, g.wl));
    kit_tensor(&t[PSI_INDICES], "psi_indices", PKB_I64, RT_SHAPE(3, most_entries(s)));
    kit_tensor(&t[PSI_VALUES], "psi_values", PKB_F32, RT_SHAPE(most_entries(s)));
    kit_tensor(&t[WEIGHT], "weight", PKB_F32, RT_SHAPE(out, in / problem_int(s, "groups"), k));
    kit_tensor(&t[BIAS], "bias", PKB_F32, RT_SHAPE(out));
    kit_tensor(&t[N_PSI_VALUES], "n_psi_values", PKB_I64, RT_SCALAR);
    kit_counted_rows(&t[PSI_VALUES], N_PSI_VALUES);
    kit_host(&t[N_PSI_VALUES]);
    return 6;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    struct grid g = grid_of(s);
    kit_tensor(&t[0], "out", PKB_F32, RT_SHAPE(problem_int(s, "B"), problem_int(s, "Cout"), g.hl, g.wl));
    return 1;
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

/* A row (k, h) of psi while it is drawn. */
struct stencil {
    const struct problem_setting *s;
    struct grid g;
    struct rng counts, columns;
    int64_t k, h;
};

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Each longitude in turn is taken with the chance that the rest leaves, which gives each subset the same. */
static int64_t draw_row(const struct stencil *t, int64_t *column)
{
    uint64_t row = (uint64_t)(t->k * t->g.nlat + t->h), first = row * (uint64_t)t->g.nlon;
    int64_t count = rng_integer(&t->counts, row, 0, most_entries_per_row(t->s) + 1), taken = 0;
    for (int64_t j = 0; j < t->g.nlon; j++) {
        uint64_t index = 2 * (first + (uint64_t)j);
        if (rng_integer(&t->columns, index, 0, t->g.nlon - j) < count - taken)
            column[taken++] = rng_integer(&t->columns, index + 1, 0, t->g.hl) * t->g.nlon + j;
    }
    return count;
}

static int64_t published_row(const struct stencil *t, int64_t *column)
{
    int64_t count = problem_int(t->s, "E");
    for (int64_t e = 0; e < count; e++)
        column[e] = t->h % t->g.hl * t->g.nlon + (t->h + e * (t->k + 1)) % t->g.nlon;
    return count;
}

/* Fills psi_indices; returns the number of entries. */
static int64_t fill_indices(const struct problem_setting *s, struct problem_inputs *set)
{
    struct stencil t = {s, grid_of(s), problem_rng(s, set, STREAM_COUNTS), problem_rng(s, set, STREAM_COLUMNS), 0, 0};
    int64_t room = set->in[PSI_INDICES].shape[1], n = 0;
    int64_t *k = set->in[PSI_INDICES].data, *h = k + room, *column = h + room;
    kit_fill_constant(&set->in[PSI_INDICES], 0);
    for (t.k = 0; t.k < problem_int(s, "K"); t.k++) {
        for (t.h = 0; t.h < t.g.nlat; t.h++) {
            int64_t count = s->inputs == PROFILE_HARDENED ? draw_row(&t, column + n) : published_row(&t, column + n);
            qsort(column + n, (size_t)count, sizeof(*column), compare);
            for (int64_t end = n + count; n < end; n++) {
                k[n] = t.k;
                h[n] = t.h;
            }
        }
    }
    return n;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    int64_t n = fill_indices(s, set), room = set->in[PSI_VALUES].shape[0];
    *(int64_t *)set->in[N_PSI_VALUES].data = n;
    kit_fill_normal(s, set, X);
    kit_fill_scaled_normal(s, set, PSI_VALUES, 0.05);
    kit_fill_rows(&set->in[PSI_VALUES], n, room - n, 0);
    kit_fill_normal(s, set, WEIGHT);
    kit_fill_normal(s, set, BIAS);
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

/* Exchanges two axes between the azimuth ranks. */
static const pkb_tensor *across_azimuth(const struct problem_call *c, const struct grid *g, const pkb_tensor *x, int scatter,
                                        int gather)
{
    if (g->azimuth == 1)
        return x;
    return axes_exchanged(c->rt, kit_stride_group(c, g->p * g->azimuth, 1, g->azimuth), x, scatter, gather);
}

/* xf as rows: (hl * nlon, B * Cin/A). */
static pkb_tensor *fields(const struct problem_call *c, const struct grid *g)
{
    int64_t b = c->in[X].shape[0], channels = c->in[X].shape[1] / g->azimuth;
    pkb_tensor *rows = rt_new(c->rt, PKB_F32, RT_SHAPE(g->hl, g->nlon, b, channels));
    rt_permute(c->rt, rows, across_azimuth(c, g, &c->in[X], 1, 3), (const int[]){2, 3, 0, 1});
    return rt_view(c->rt, rows, RT_SHAPE(g->hl * g->nlon, b * channels));
}

/* The entries of psi. */
struct entries {
    int64_t n;
    pkb_tensor *target;    /* k * nlat + h */
    pkb_tensor *latitude;  /* l * nlon */
    pkb_tensor *longitude; /* j */
    pkb_tensor *value;     /* (n, 1) */
};

static struct entries read_entries(const struct problem_call *c, const struct grid *g)
{
    int64_t n = *(const int64_t *)c->in[N_PSI_VALUES].data;
    pkb_tensor *part[3];
    struct entries e = {.n = n};
    for (int i = 0; i < 3; i++)
        part[i] = rt_rows(c->rt, rt_entry(c->rt, &c->in[PSI_INDICES], i), 0, n);
    e.target = rt_new(c->rt, PKB_I64, RT_SHAPE(n));
    e.latitude = rt_new(c->rt, PKB_I64, RT_SHAPE(n));
    e.longitude = rt_new(c->rt, PKB_I64, RT_SHAPE(n));
    rt_binary_scalar(c->rt, RT_MUL, e.target, part[0], (double)g->nlat);
    rt_binary(c->rt, RT_ADD, e.target, e.target, part[1]);
    rt_binary_scalar(c->rt, RT_MOD, e.longitude, part[2], (double)g->nlon);
    rt_binary(c->rt, RT_SUB, e.latitude, part[2], e.longitude);
    e.value = rt_view(c->rt, rt_rows(c->rt, &c->in[PSI_VALUES], 0, n), RT_SHAPE(n, 1));
    return e;
}

/* y as (nlon, K * nlat, B * Cin/A), longitude by longitude: the stencil is the same, the fields are turned. */
static pkb_tensor *contract(const struct problem_call *c, const struct grid *g)
{
    int64_t targets = problem_call_int(c, "K") * g->nlat, width = c->in[X].shape[0] * c->in[X].shape[1] / g->azimuth;
    struct entries e = read_entries(c, g);
    pkb_tensor *xf = fields(c, g);
    pkb_tensor *y = rt_new(c->rt, PKB_F32, RT_SHAPE(g->nlon, targets, width));
    pkb_tensor *source = rt_new(c->rt, PKB_I64, RT_SHAPE(e.n));
    pkb_tensor *terms = rt_new(c->rt, PKB_F32, RT_SHAPE(e.n, width));
    rt_fill(c->rt, y, 0);
    for (int64_t q = 0; q < g->nlon; q++) {
        rt_binary_scalar(c->rt, RT_ADD, source, e.longitude, (double)q);
        rt_binary_scalar(c->rt, RT_MOD, source, source, (double)g->nlon);
        rt_binary(c->rt, RT_ADD, source, source, e.latitude);
        rt_take_rows(c->rt, terms, xf, source);
        rt_binary(c->rt, RT_MUL, terms, terms, e.value);
        rt_add_rows(c->rt, rt_entry(c->rt, y, q), terms, e.target);
    }
    return y;
}

/* Sum over the polar ranks and the own latitudes: (nlon, K, hl, B, Cin/A). */
static pkb_tensor *own_latitudes(const struct problem_call *c, const struct grid *g, pkb_tensor *y)
{
    int64_t k = problem_call_int(c, "K"), b = c->in[X].shape[0], channels = c->in[X].shape[1] / g->azimuth;
    pkb_tensor *own = rt_new(c->rt, PKB_F32, RT_SHAPE(g->nlon, k, g->hl, b, channels));
    if (g->polar > 1)
        rt_all_reduce(c->rt, kit_stride_group(c, g->a, g->azimuth, g->polar), RT_SUM, y, y);
    rt_slice(c->rt, own, rt_view(c->rt, y, RT_SHAPE(g->nlon, k, g->nlat, b, channels)), 2, g->p * g->hl);
    return own;
}

/* The sum over channels and basis functions from Y (wl, K, hl, B, Cin), and the bias. */
static void mix_channels(const struct problem_call *c, const struct grid *g, const pkb_tensor *y)
{
    int64_t b = c->in[X].shape[0], in = c->in[X].shape[1], out = c->out[0].shape[1], k = c->in[WEIGHT].shape[2];
    int64_t groups = problem_call_int(c, "groups"), terms = in / groups * k, points = b * g->hl * g->wl;
    pkb_tensor *ordered = rt_new(c->rt, PKB_F32, RT_SHAPE(in, k, b, g->hl, g->wl));
    pkb_tensor *mixed = rt_new(c->rt, PKB_F32, RT_SHAPE(groups, out / groups, points));
    rt_permute(c->rt, ordered, y, (const int[]){4, 1, 3, 2, 0});
    rt_matmul(c->rt, mixed, rt_view(c->rt, &c->in[WEIGHT], RT_SHAPE(groups, out / groups, terms)), false,
              rt_view(c->rt, ordered, RT_SHAPE(groups, terms, points)), false);
    rt_permute(c->rt, &c->out[0], rt_view(c->rt, mixed, RT_SHAPE(out, b, g->hl, g->wl)), (const int[]){1, 0, 2, 3});
    rt_binary(c->rt, RT_ADD, &c->out[0], &c->out[0], rt_view(c->rt, &c->in[BIAS], RT_SHAPE(out, 1, 1)));
}

static void reference(const struct problem_call *c)
{
    struct grid g = grid_of(c->setting);
    pkb_tensor *y = own_latitudes(c, &g, contract(c, &g));
    mix_channels(c, &g, across_azimuth(c, &g, y, 0, 4));
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s, (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 1e-4, .rtol = 1e-4};
}

static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct grid g = grid_of(s);
    double b = problem_real(s, "B"), in = problem_real(s, "Cin"), out = problem_real(s, "Cout"), k = problem_real(s, "K");
    double per_group = in / problem_real(s, "groups"), local = in / g.azimuth,
           entries = k * (double)g.nlat * problem_real(s, "E");
    double own = (double)(g.hl * g.wl), all_longitudes = (double)(g.hl * g.nlon), whole = (double)(g.nlat * g.nlon);
    double others = (g.azimuth - 1.0) / g.azimuth, others_polar = (g.polar - 1.0) / g.polar;
    double exchanged = 4 * b * in * own * others + 4 * b * local * k * (whole * others_polar + all_longitudes * others);
    double replicated = (4 * b * in * own + 12 * entries) * (s->world - 1.0);
    cost->flops = 2 * entries * (double)g.nlon * b * local + 2 * b * out * per_group * k * own;
    cost->hbm_bytes = 4 * b * (in + out) * own + 12 * entries + 4 * out * per_group * k;
    cost->link_bytes = fmin(exchanged, replicated);
}

const struct problem problem_62 = {
    .id = 62,
    .name = "62_torchharmonics_spherical_convolution",
    .family = "scientific",
    .origin = "torch-harmonics: the distributed discrete-continuous (DISCO) convolution on the sphere",
    .summary = "Convolve fields on a latitude-longitude grid that is spread over polar and azimuth ranks: exchange channels for "
               "longitudes, contract with a sparse stencil, reduce over latitudes, exchange back, mix channels.",
    .source = "problems/scientific/62_torchharmonics_spherical_convolution.c",
    .worlds = "odd, or Cin % 2 == 0",
    .params = params,
    .n_params = KIT_COUNT(params),
    .supports = supports,
    .inputs = inputs,
    .outputs = outputs,
    .init = init,
    .reference = reference,
    .check = check,
    .cost = cost,
};
