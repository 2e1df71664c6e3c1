/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/vision/tiles.h"

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int tiles_axis_init(struct tiles_axis *axis, const char *name, int64_t size, int64_t tile, double overlap, int64_t factor,
                    struct pkb_error *err)
{
    *axis = (struct tiles_axis){.size = size, .tile = tile, .factor = factor};
    axis->step = (int64_t)((double)tile * (1 - overlap));
    axis->blend = (int64_t)((double)(tile * factor) * overlap);
    axis->kept = tile * factor - axis->blend;
    if (axis->step < 1)
        return pkb_error_set(err, "%s: tiles of %lld with an overlap of %g do not advance", name, (long long)tile, overlap);
    if (axis->kept != axis->step * factor)
        return pkb_error_set(err, "%s: of a decoded tile %lld are kept, but the next one is %lld further", name,
                             (long long)axis->kept, (long long)(axis->step * factor));
    axis->count = (size + axis->step - 1) / axis->step;
    return 0;
}

/* Whether tile a comes before tile b. */
static bool comes_first(const struct tiles *t, int64_t a, int64_t b)
{
    int64_t of_a = tiles_volume(t, a), of_b = tiles_volume(t, b);
    return of_a != of_b ? of_a > of_b : a < b;
}

static void insert(struct tiles *t, int64_t x)
{
    int64_t at = x;
    while (at > 0 && comes_first(t, x, t->order[at - 1])) {
        t->order[at] = t->order[at - 1];
        at--;
    }
    t->order[at] = x;
}

int tiles_init(struct tiles *t, struct pkb_error *err)
{
    t->n = 1;
    for (int i = 0; i < TILES_AXES; i++) {
        if (t->axis[i].count > TILES_MOST / t->n)
            return pkb_error_set(err, "more than %d tiles", TILES_MOST);
        t->n *= t->axis[i].count;
    }
    for (int64_t x = 0; x < t->n; x++)
        insert(t, x);
    return 0;
}

/* Tiles from one to the next along an axis. */
static int64_t stride(const struct tiles *t, int axis)
{
    int64_t tiles = 1;
    for (int i = axis + 1; i < TILES_AXES; i++)
        tiles *= t->axis[i].count;
    return tiles;
}

int64_t tiles_place(const struct tiles *t, int64_t x, int axis)
{
    return x / stride(t, axis) % t->axis[axis].count;
}

int64_t tiles_length(const struct tiles *t, int64_t x, int axis)
{
    const struct tiles_axis *a = &t->axis[axis];
    return lesser(a->tile, a->size - tiles_place(t, x, axis) * a->step);
}

int64_t tiles_before(const struct tiles *t, int64_t x, int axis)
{
    return tiles_place(t, x, axis) > 0 ? x - stride(t, axis) : -1;
}

int64_t tiles_decoded(const struct tiles *t, int64_t x, int axis)
{
    return tiles_length(t, x, axis) * t->axis[axis].factor;
}

int64_t tiles_blended(const struct tiles *t, int64_t x, int axis)
{
    int64_t before = tiles_before(t, x, axis);
    if (before < 0)
        return 0;
    return lesser(t->axis[axis].blend, lesser(tiles_decoded(t, before, axis), tiles_decoded(t, x, axis)));
}

int64_t tiles_kept(const struct tiles *t, int64_t x, int axis)
{
    return lesser(t->axis[axis].kept, tiles_decoded(t, x, axis));
}

int64_t tiles_volume(const struct tiles *t, int64_t x)
{
    return tiles_length(t, x, 0) * tiles_length(t, x, 1) * tiles_length(t, x, 2);
}

int64_t tiles_volume_of(const struct tiles *t, int rank, int world)
{
    int64_t volume = 0;
    for (int64_t i = rank < 0 ? 0 : rank; i < t->n; i += rank < 0 ? 1 : world)
        volume += tiles_volume(t, t->order[i]);
    return volume;
}

int64_t tiles_mixed(const struct tiles *t)
{
    int64_t mixed = 0;
    for (int64_t x = 0; x < t->n; x++) {
        int64_t all = 1, untouched = 1;
        for (int i = 0; i < TILES_AXES; i++) {
            int64_t kept = tiles_kept(t, x, i);
            all *= kept;
            untouched *= kept - lesser(kept, tiles_blended(t, x, i));
        }
        mixed += all - untouched;
    }
    return mixed;
}
