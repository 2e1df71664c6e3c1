/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of plan/shards: "WWWW FFFFFFFFF NNNNNNNNN MMMMMMMMMMMMMMM DIGEST\n". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/digits.h"
#include "sweeps/plan_parts.h"

enum { WORLD = 0, FIRST = 5, COUNT = 15, TIME = 25, DIGEST = 41 }; /* columns */
enum { WORLD_DIGITS = 4, CELL_DIGITS = 9, TIME_DIGITS = 15 };

_Static_assert(DIGEST + PKB_DIGEST_HEX == PLAN_SHARD_LINE, "the line ends behind the digest");

#define MOST_MILLISECONDS 999999999999999.0

int plan_format_shards(const struct plan *p, const char *cells, char *text, struct pkb_error *err)
{
    for (size_t i = 0; i < p->n_shards; i++, text += PLAN_SHARD_LINE) {
        const struct plan_shard *s = &p->shards[i];
        char digest[PKB_DIGEST_HEX];
        if (pkb_digest_buffer(cells + s->first * PLAN_LINE, s->count * PLAN_LINE, digest, err) < 0)
            return -1;
        memset(text, ' ', PLAN_SHARD_LINE - 1);
        digits_format((uint64_t)s->world, WORLD_DIGITS, text + WORLD);
        digits_format(s->first, CELL_DIGITS, text + FIRST);
        digits_format(s->count, CELL_DIGITS, text + COUNT);
        digits_format((uint64_t)fmin(round(s->seconds * 1000), MOST_MILLISECONDS), TIME_DIGITS, text + TIME);
        memcpy(text + DIGEST, digest, PKB_DIGEST_HEX - 1);
        text[PLAN_SHARD_LINE - 1] = '\n';
    }
    return 0;
}

static int parse_line(const char *text, struct plan_shard *s, char digest[PKB_DIGEST_HEX], struct pkb_error *err)
{
    uint64_t world, milliseconds;
    if (!digits_parse(text + WORLD, WORLD_DIGITS, &world) || !digits_parse(text + FIRST, CELL_DIGITS, &s->first) ||
        !digits_parse(text + COUNT, CELL_DIGITS, &s->count) || !digits_parse(text + TIME, TIME_DIGITS, &milliseconds))
        return pkb_error_set(err, "expected four numbers and a digest");
    s->world = (int)world;
    s->seconds = (double)milliseconds / 1000;
    memcpy(digest, text + DIGEST, PKB_DIGEST_HEX - 1);
    digest[PKB_DIGEST_HEX - 1] = '\0';
    return 0;
}

static int parse_lines(struct plan_index *index, const char *text, struct pkb_error *err)
{
    struct plan *p = index->plan;
    uint64_t next = 0;
    for (size_t i = 0; i < index->n_shards; i++, text += PLAN_SHARD_LINE) {
        struct plan_shard *s = &p->shards[i];
        if (parse_line(text, s, index->shard_digests[i], err) < 0)
            return pkb_error_prefix(err, "shards: line %zu", i + 1);
        if (s->first != next || s->count == 0)
            return pkb_error_set(err, "shards: line %zu: not behind the one before it", i + 1);
        s->id = (int)i;
        next += s->count;
        p->n_shards++;
    }
    if (next != index->n_cells)
        return pkb_error_set(err, "shards: they hold %llu cells, not %llu", (unsigned long long)next,
                             (unsigned long long)index->n_cells);
    return 0;
}

int plan_parse_shards(struct plan_index *index, const char *text, size_t size, struct pkb_error *err)
{
    char digest[PKB_DIGEST_HEX];
    if (size != index->n_shards * PLAN_SHARD_LINE)
        return pkb_error_set(err, "shards: %zu bytes, expected %llu for %llu shards", size,
                             (unsigned long long)(index->n_shards * PLAN_SHARD_LINE), (unsigned long long)index->n_shards);
    if (pkb_digest_buffer(text, size, digest, err) < 0)
        return -1;
    if (strcmp(digest, index->shards_digest) != 0)
        return pkb_error_set(err, "shards: the file is not the one that was written");
    index->plan->shards = calloc(index->n_shards, sizeof(*index->plan->shards));
    index->shard_digests = calloc(index->n_shards, sizeof(*index->shard_digests));
    if (!index->plan->shards || !index->shard_digests)
        return pkb_error_set(err, "out of memory");
    return parse_lines(index, text, err);
}
