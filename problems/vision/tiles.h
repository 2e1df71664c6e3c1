/* SPDX-License-Identifier: Apache-2.0 */
/* A latent video that is decoded in overlapping tiles: where the tiles are, and who decodes which. Host arithmetic alone.
 *
 * Axes are frames, rows, columns. Along an axis tiles of `tile` latent elements begin every `step` = trunc(tile (1 - overlap))
 * elements; those at the far end have what remains. A decoded tile is `factor` times as large; of a full one `blend` = trunc(tile
 * factor overlap) elements are mixed with the neighbour's, and the first `kept` = tile factor - blend stay.
 */
#ifndef PKB_PROBLEMS_VISION_TILES_H
#define PKB_PROBLEMS_VISION_TILES_H

#include "problems/kit.h"

#define TILES_AXES 3
#define TILES_MOST 1024 /* tiles of a video */

struct tiles_axis {
    int64_t size, tile, step, factor, blend, kept;
    int64_t count; /* tiles along the axis: ceil(size / step) */
};

struct tiles {
    struct tiles_axis axis[TILES_AXES];
    int64_t n;                 /* tiles; tile x = (it * rows of tiles + ih) * columns of tiles + iw */
    int64_t order[TILES_MOST]; /* by decreasing size, equal ones by number; rank r has order[r], order[r + W], ... */
};

/* One axis. -1 with the error set when its tiles do not make up the axis; `name` is for the message. */
int tiles_axis_init(struct tiles_axis *axis, const char *name, int64_t size, int64_t tile, double overlap, int64_t factor,
                    struct pkb_error *err);

/* Numbers and orders the tiles of the three axes. -1 with the error set when there are more than TILES_MOST. */
int tiles_init(struct tiles *t, struct pkb_error *err);

/* Place of a tile along an axis; its latent elements from first * step on. */
int64_t tiles_place(const struct tiles *t, int64_t x, int axis);
int64_t tiles_length(const struct tiles *t, int64_t x, int axis);

/* The number of the neighbour before tile x along an axis, or -1. */
int64_t tiles_before(const struct tiles *t, int64_t x, int axis);

/* Elements along an axis of the decoded tile, of its blended part (0 without a neighbour), and of what is kept. */
int64_t tiles_decoded(const struct tiles *t, int64_t x, int axis);
int64_t tiles_blended(const struct tiles *t, int64_t x, int axis);
int64_t tiles_kept(const struct tiles *t, int64_t x, int axis);

/* Latent elements of a channel of a tile, and of the tiles of a rank (or, with rank -1, of all). */
int64_t tiles_volume(const struct tiles *t, int64_t x);
int64_t tiles_volume_of(const struct tiles *t, int rank, int world);

/* Kept elements of a channel of all tiles that blending changes. */
int64_t tiles_mixed(const struct tiles *t);

#endif
