/* SPDX-License-Identifier: Apache-2.0 */
/* 78 magi1_tile_parallel_vae_decode: a latent video is cut into overlapping tiles; every rank decodes some of them from its own
 * latents, tiles are exchanged, their overlaps blended, the blended tiles exchanged and joined to the whole video on every rank.
 * Decoding is a trilinear enlargement here.
 *
 * Parameters   B: batch. Cz: latent channels. Zt, Zh, Zw: latent frames, rows, columns. lt, lh, lw: size of a tile. os, ot:
 *              overlap of tiles in space and time. us, ut: enlargement in space and time. sr: a further factor of us. ffi: 1
 *              makes tiles one frame longer. problems/vision/tiles.h says where the tiles are. The kept parts of tiles must join
 *              without a gap.
 * Input        z (B, Cz, Zt, Zh, Zw) of bf16 (for every T), DIFFERENT on every rank: each tile shows its owner's z, so who
 *              decodes which is part of the result.
 * Output       video (B, 3, Zt*ut, Zh*us, Zw*us) of bf16, the same on every rank:
 *              1. The tiles by decreasing size, equal ones by number, go to the ranks in turn.
 *              2. The owner takes the channels 0, 1, 2 (c mod Cz) of its z within the tile and enlarges them by linear
 *                 interpolation along columns, rows, frames: output i lies at s = max(0, (i + 1/2)/f - 1/2); with j = floor(s),
 *                 the value is (1 - (s - j)) * x[j] + (s - j) * x[min(j+1, m-1)], m the size within the tile. f32, one rounding
 *                 to bf16 at the end.
 *              3. Every tile is mixed, along frames, rows, columns in this order, with the tile before it, where there is one,
 *                 which is the one of step 2, not a blended one. Over the first e = min(blend, both sizes) elements
 *                     cur[i] = prev[n_prev - e + i] * (1 - i/e) + cur[i] * i/e,
 *                 each product and the sum rounded to bf16. Then only the first `kept` elements stay.
 *              4. The kept parts side by side.
 *              What crosses ranks is up to the program: latents of tiles, decoded or blended tiles.
 * One rank     the same, all tiles its own.
 * Arithmetic   as above.
 * Check        Orders of evaluation differ by a unit of bf16 of what is mixed, up to three such steps: |v - vc| <= 0.05 + 2^-7
 *              |vc| (with N(0,1) latents), and ||v - vc|| <= 0.005 * ||vc||.
 * Inputs       N(0,1).
 */
#include <math.h>

#include "problems/rows.h"
#include "problems/vision/tiles.h"

#define CHANNELS 3

static const struct problem_param params[] = {
    {"B", 1, 1, true, "batch"},
    {"Cz", 16, 4, true, "latent channels"},
    {"Zt", 6, 5, true, "latent frames"},
    {"Zh", 90, 11, true, "latent rows"},
    {"Zw", 90, 14, true, "latent columns"},
    {"lt", 3, 4, true, "latent frames of a tile"},
    {"lh", 32, 8, true, "latent rows of a tile"},
    {"lw", 32, 8, true, "latent columns of a tile"},
    {"os", 0.25, 0.25, false, "overlap of tiles in rows and columns"},
    {"ot", 0, 0.25, false, "overlap of tiles in frames"},
    {"us", 8, 2, true, "enlargement of rows and columns"},
    {"ut", 4, 2, true, "enlargement of frames"},
    {"sr", 1, 1, true, "further enlargement of rows and columns"},
    {"ffi", 0, 0, true, "frames that tiles are longer"},
};

enum { FRAMES, ROWS, COLUMNS };

static int make_tiles(const struct problem_setting *s, struct tiles *t, struct pkb_error *err)
{
    int64_t space = problem_int(s, "us") * problem_int(s, "sr"), frames = problem_int(s, "lt") + problem_int(s, "ffi");
    double overlap = problem_real(s, "os");
    if (tiles_axis_init(&t->axis[FRAMES], "frames", problem_int(s, "Zt"), frames, problem_real(s, "ot"), problem_int(s, "ut"),
                        err) < 0 ||
        tiles_axis_init(&t->axis[ROWS], "rows", problem_int(s, "Zh"), problem_int(s, "lh"), overlap, space, err) < 0 ||
        tiles_axis_init(&t->axis[COLUMNS], "columns", problem_int(s, "Zw"), problem_int(s, "lw"), overlap, space, err) < 0)
        return -1;
    return tiles_init(t, err);
}

/* Of a setting that is supported. */
static struct tiles tiles_of(const struct problem_setting *s)
{
    struct tiles t;
    (void)make_tiles(s, &t, NULL);
    return t;
}

/* Sizes above it have no use and would overflow. */
#define LARGEST 65536

static int check_sizes(const struct problem_setting *s, struct pkb_error *err)
{
    static const char *const sizes[] = {"Cz", "Zt", "Zh", "Zw", "lt", "lh", "lw", "us", "ut", "sr"};
    for (int i = 0; i < KIT_COUNT(sizes); i++) {
        if (kit_require_least(s, sizes[i], 1, err) < 0)
            return -1;
        if (problem_int(s, sizes[i]) > LARGEST)
            return pkb_error_set(err, "%s is more than %d", sizes[i], LARGEST);
    }
    return 0;
}

static int supports(const struct problem_setting *s, struct pkb_error *err)
{
    struct tiles t;
    double space = problem_real(s, "os"), time = problem_real(s, "ot");
    if (check_sizes(s, err) < 0)
        return -1;
    if (!(space >= 0 && space < 1 && time >= 0 && time < 1))
        return pkb_error_set(err, "overlaps %g, %g: must be at least 0 and less than 1", space, time);
    if (problem_int(s, "ffi") > 1)
        return pkb_error_set(err, "ffi is neither 0 nor 1");
    return make_tiles(s, &t, err);
}

static int inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(
        &t[0], "z", PKB_BF16,
        RT_SHAPE(problem_int(s, "B"), problem_int(s, "Cz"), problem_int(s, "Zt"), problem_int(s, "Zh"), problem_int(s, "Zw")));
    return 1;
}

static int outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t space = problem_int(s, "us") * problem_int(s, "sr"), frames = problem_int(s, "Zt") * problem_int(s, "ut");
    kit_tensor(&t[0], "video", PKB_BF16,
               RT_SHAPE(problem_int(s, "B"), CHANNELS, frames, problem_int(s, "Zh") * space, problem_int(s, "Zw") * space));
    return 1;
}

static void init(const struct problem_setting *s, struct problem_inputs *set)
{
    kit_fill_normal(s, set, 0);
}

/* ---- tensors of tiles ---------------------------------------------------------------------------------------------- */

/* A call, its tiles, and a function that says how large a tile is along an axis. */
struct decoder {
    const struct problem_call *c;
    struct tiles tiles;
    int64_t batch;
};
typedef int64_t tile_size_fn(const struct tiles *t, int64_t x, int axis);

static int64_t elements(const struct decoder *d, tile_size_fn *size, int64_t x)
{
    const struct tiles *t = &d->tiles;
    return d->batch * CHANNELS * size(t, x, FRAMES) * size(t, x, ROWS) * size(t, x, COLUMNS);
}

/* A bf16 tensor (B, 3, frames, rows, columns), with one of the sizes (axis; -1: none) replaced. */
static pkb_tensor *new_tile(const struct decoder *d, tile_size_fn *size, int64_t x, int axis, int64_t other)
{
    int64_t shape[2 + TILES_AXES] = {d->batch, CHANNELS};
    for (int i = 0; i < TILES_AXES; i++)
        shape[2 + i] = i == axis ? other : size(&d->tiles, x, i);
    return rt_new(d->c->rt, PKB_BF16, 2 + TILES_AXES, shape);
}

static pkb_tensor *view_tile(const struct decoder *d, tile_size_fn *size, int64_t x, const pkb_tensor *t)
{
    const struct tiles *tiles = &d->tiles;
    return rt_view(d->c->rt, t,
                   RT_SHAPE(d->batch, CHANNELS, size(tiles, x, FRAMES), size(tiles, x, ROWS), size(tiles, x, COLUMNS)));
}

/* ---- decoding ------------------------------------------------------------------------------------------------------ */

/* `count` elements of a spatial axis of a tensor from `first` on. */
static pkb_tensor *cut(const struct decoder *d, const pkb_tensor *t, int axis, int64_t first, int64_t count)
{
    if (rt_status(d->c->rt, NULL) < 0)
        return NULL;
    pkb_tensor form = *t;
    form.shape[2 + axis] = count;
    pkb_tensor *part = rt_new_like(d->c->rt, t->dtype, &form);
    rt_slice(d->c->rt, part, t, 2 + axis, first);
    return part;
}

/* The channels that are shown, of the whole z. */
static pkb_tensor *shown_channels(const struct decoder *d)
{
    const pkb_tensor *z = &d->c->in[0];
    pkb_tensor *channel = rt_new(d->c->rt, PKB_I64, RT_SHAPE(CHANNELS));
    pkb_tensor *shown = rt_new(d->c->rt, PKB_BF16, RT_SHAPE(d->batch, CHANNELS, z->shape[2], z->shape[3], z->shape[4]));
    rt_iota(d->c->rt, channel, 0, 1);
    rt_binary_scalar(d->c->rt, RT_MOD, channel, channel, (double)z->shape[1]);
    rt_take(d->c->rt, shown, z, channel, 1);
    return shown;
}

/* A vector of n f32 numbers that broadcasts along a spatial axis. */
static pkb_tensor *along(const struct decoder *d, int axis, int64_t n)
{
    const int64_t shape[TILES_AXES] = {n, 1, 1};
    return rt_new(d->c->rt, PKB_F32, TILES_AXES - axis, shape);
}

/* weight * t[.., index, ..] along a spatial axis. */
static pkb_tensor *weighted(const struct decoder *d, const pkb_tensor *t, int axis, const pkb_tensor *index,
                            const pkb_tensor *weight)
{
    if (rt_status(d->c->rt, NULL) < 0)
        return NULL;
    pkb_tensor form = *t;
    form.shape[2 + axis] = index->shape[0];
    pkb_tensor *taken = rt_new_like(d->c->rt, PKB_F32, &form);
    rt_take(d->c->rt, taken, t, index, 2 + axis);
    rt_binary(d->c->rt, RT_MUL, taken, taken, weight);
    return taken;
}

/* weight = 1 - weight. */
static void complement(const struct decoder *d, pkb_tensor *dst, const pkb_tensor *weight)
{
    rt_unary(d->c->rt, RT_NEG, dst, weight);
    rt_binary_scalar(d->c->rt, RT_ADD, dst, dst, 1);
}

/* Linear interpolation of f32 along a spatial axis of m elements, to factor * m. */
static pkb_tensor *enlarge(const struct decoder *d, const pkb_tensor *t, int axis, int64_t m, int64_t factor)
{
    struct rt *rt = d->c->rt;
    int64_t n = m * factor;
    double step = 1 / (double)factor;
    pkb_tensor *high_weight = along(d, axis, n), *low_weight = along(d, axis, n);
    pkb_tensor *low = rt_new(rt, PKB_I64, RT_SHAPE(n)), *high = rt_new(rt, PKB_I64, RT_SHAPE(n));
    rt_iota(rt, high_weight, step / 2 - 0.5, step);
    rt_binary_scalar(rt, RT_MAX, high_weight, high_weight, 0);
    rt_unary(rt, RT_FLOOR, low_weight, high_weight);
    rt_copy(rt, low, low_weight);
    rt_binary_scalar(rt, RT_ADD, high, low, 1);
    rt_binary_scalar(rt, RT_MIN, high, high, (double)(m - 1));
    rt_binary(rt, RT_SUB, high_weight, high_weight, low_weight);
    complement(d, low_weight, high_weight);
    pkb_tensor *sum = weighted(d, t, axis, low, low_weight);
    rt_binary(rt, RT_ADD, sum, sum, weighted(d, t, axis, high, high_weight));
    return sum;
}

static pkb_tensor *decode(const struct decoder *d, const pkb_tensor *shown, int64_t x)
{
    const struct tiles *t = &d->tiles;
    const pkb_tensor *part = shown;
    for (int i = FRAMES; i <= COLUMNS; i++)
        part = cut(d, part, i, tiles_place(t, x, i) * t->axis[i].step, tiles_length(t, x, i));
    pkb_tensor *large = rt_new_like(d->c->rt, PKB_F32, part);
    pkb_tensor *decoded = new_tile(d, tiles_decoded, x, -1, 0);
    rt_copy(d->c->rt, large, part);
    for (int i = COLUMNS; i >= FRAMES; i--)
        large = enlarge(d, large, i, tiles_length(t, x, i), t->axis[i].factor);
    rt_copy(d->c->rt, decoded, large);
    return decoded;
}

/* ---- exchange ------------------------------------------------------------------------------------------------------ */

/* Every rank's tiles of which `tile` has the own ones become all tiles, on every rank. */
static void exchange(const struct decoder *d, tile_size_fn *size, pkb_tensor **tile)
{
    const struct tiles *t = &d->tiles;
    int64_t counts[PROBLEM_MAX_WORLD] = {0}, total = 0, at = 0;
    int world = d->c->world->size, rank = d->c->world->rank;
    for (int64_t i = 0; i < t->n; i++)
        counts[i % world] += elements(d, size, t->order[i]);
    for (int q = 0; q < world; q++)
        total += counts[q];
    pkb_tensor *own = rt_new(d->c->rt, PKB_BF16, RT_SHAPE(counts[rank]));
    pkb_tensor *all = rt_new(d->c->rt, PKB_BF16, RT_SHAPE(total));
    for (int64_t i = rank; i < t->n; i += world) {
        int64_t count = elements(d, size, t->order[i]);
        rt_copy(d->c->rt, rt_rows(d->c->rt, own, at, count), tile[t->order[i]]);
        at += count;
    }
    rows_gather(d->c, all, counts, own);
    at = 0;
    for (int q = 0; q < world; q++) {
        for (int64_t i = q; i < t->n; i += world) {
            int64_t x = t->order[i], count = elements(d, size, x);
            tile[x] = view_tile(d, size, x, rt_rows(d->c->rt, all, at, count));
            at += count;
        }
    }
}

/* ---- blending ------------------------------------------------------------------------------------------------------ */

/* t * weight, rounded to bf16. */
static pkb_tensor *scaled(const struct decoder *d, const pkb_tensor *t, const pkb_tensor *weight)
{
    pkb_tensor *product = rt_new_like(d->c->rt, PKB_BF16, t);
    rt_binary(d->c->rt, RT_MUL, product, t, weight);
    return product;
}

/* Mixes the first elements of tile x along an axis with the last ones of the decoded tile before it. */
static void blend(const struct decoder *d, pkb_tensor *current, pkb_tensor *const *decoded, int64_t x, int axis)
{
    int64_t count = tiles_blended(&d->tiles, x, axis), before = tiles_before(&d->tiles, x, axis);
    if (count == 0)
        return;
    pkb_tensor *rising = along(d, axis, count), *falling = along(d, axis, count);
    rt_iota(d->c->rt, rising, 0, 1);
    rt_binary_scalar(d->c->rt, RT_DIV, rising, rising, (double)count);
    complement(d, falling, rising);
    pkb_tensor *previous = cut(d, decoded[before], axis, tiles_decoded(&d->tiles, before, axis) - count, count);
    pkb_tensor *mixed = scaled(d, previous, falling);
    rt_binary(d->c->rt, RT_ADD, mixed, mixed, scaled(d, cut(d, current, axis, 0, count), rising));
    rt_paste(d->c->rt, current, 2 + axis, 0, mixed);
}

static pkb_tensor *blend_and_crop(const struct decoder *d, pkb_tensor *const *decoded, int64_t x)
{
    pkb_tensor *current = new_tile(d, tiles_decoded, x, -1, 0);
    rt_copy(d->c->rt, current, decoded[x]);
    for (int i = FRAMES; i <= COLUMNS; i++)
        blend(d, current, decoded, x, i);
    for (int i = FRAMES; i <= COLUMNS; i++)
        current = cut(d, current, i, 0, tiles_kept(&d->tiles, x, i));
    return current;
}

/* ---- the whole video ----------------------------------------------------------------------------------------------- */

/* Joins groups of `count` pieces along an axis: the pieces of which tile[x] is the first become tile[x]. */
static void join(const struct decoder *d, pkb_tensor **tile, int64_t step, int axis)
{
    const struct tiles_axis *a = &d->tiles.axis[axis];
    for (int64_t x = 0; x < d->tiles.n; x += step * a->count) {
        if (rt_status(d->c->rt, NULL) < 0)
            return;
        pkb_tensor form = *tile[x];
        form.shape[2 + axis] = a->size * a->factor;
        pkb_tensor *joined = rt_new_like(d->c->rt, PKB_BF16, &form);
        for (int64_t i = 0; i < a->count; i++)
            rt_paste(d->c->rt, joined, 2 + axis, i * a->kept, tile[x + i * step]);
        tile[x] = joined;
    }
}

static void reference(const struct problem_call *c)
{
    struct decoder d = {c, tiles_of(c->setting), c->in[0].shape[0]};
    const struct tiles *t = &d.tiles;
    pkb_tensor *decoded[TILES_MOST], *blended[TILES_MOST];
    pkb_tensor *shown = shown_channels(&d);
    for (int64_t i = c->world->rank; i < t->n; i += c->world->size)
        decoded[t->order[i]] = decode(&d, shown, t->order[i]);
    exchange(&d, tiles_decoded, decoded);
    for (int64_t i = c->world->rank; i < t->n; i += c->world->size)
        blended[t->order[i]] = blend_and_crop(&d, decoded, t->order[i]);
    exchange(&d, tiles_kept, blended);
    join(&d, blended, 1, COLUMNS);
    join(&d, blended, t->axis[COLUMNS].count, ROWS);
    join(&d, blended, t->axis[COLUMNS].count * t->axis[ROWS].count, FRAMES);
    rt_copy(c->rt, &c->out[0], blended[0]);
}

static void check(const struct problem_setting *s, int output, struct problem_check *check)
{
    (void)s;
    (void)output;
    *check = (struct problem_check){.kind = CHECK_CLOSE, .atol = 0.05, .rtol = ldexp(1, -7), .frobenius = 0.005};
}

/* Latents of the shown channels are sent and everything is decoded everywhere, which is cheap here. */
static void cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct tiles t = tiles_of(s);
    double channels = CHANNELS * problem_real(s, "B"), result = channels;
    for (int i = FRAMES; i <= COLUMNS; i++)
        result *= (double)(t.axis[i].size * t.axis[i].factor);
    cost->flops = 25 * result + 3 * channels * (double)tiles_mixed(&t);
    cost->hbm_bytes = 2 * result + 2 * channels * (double)tiles_volume_of(&t, -1, s->world);
    cost->link_bytes = 2 * (s->world - 1.0) * channels * (double)tiles_volume_of(&t, s->rank, s->world);
}

const struct problem problem_78 = {
    .id = 78,
    .name = "78_magi1_tile_parallel_vae_decode",
    .family = "vision",
    .origin = "MAGI-1 (Sand AI): tile-parallel decoder of the video autoencoder, with blended overlaps as in diffusers",
    .summary = "Decode the tiles of a latent video that fall to each rank, exchange them, blend the overlaps with the "
               "neighbours, exchange "
               "again and join the whole video on every rank.",
    .source = "problems/vision/78_magi1_tile_parallel_vae_decode.c",
    .worlds = "any",
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
