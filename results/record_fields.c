/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record_fields.h"

#include <math.h>
#include <string.h>

#define MAX_NS 1e18    /* 31 years */
#define MAX_RATIO 1e12 /* of two times */
#define MAX_COUNT 1e9  /* of iterations */
#define MAX_NUMBER 1e6 /* of samples, ranks, attempts */
#define ROUNDING 1e-9  /* relative, of statistics written with 15 digits */
#define RATIO_SLACK 1e-6

#define AT(type, member, kind, min, max)                                                                                         \
    {                                                                                                                            \
#member, kind, offsetof(type, member), sizeof(((type *)0)->member), min, max, NULL                                       \
    }
#define TIMES_AT(type, member)                                                                                                   \
    {                                                                                                                            \
#member, FIELD_OBJECT, offsetof(type, member), sizeof(((type *)0)->member), 0, 0, &times_table                           \
    }
#define CHECKED(name)                                                                                                            \
    {                                                                                                                            \
        name, FIELD_ANY, 0, 0, 0, 0, NULL                                                                                        \
    }
#define TABLE(list)                                                                                                              \
    {                                                                                                                            \
        list, (int)(sizeof(list) / sizeof((list)[0]))                                                                            \
    }

static const struct field times_fields[] = {
    AT(struct record_times, iterations, FIELD_INT, 1, MAX_COUNT), AT(struct record_times, mean, FIELD_REAL, 0, MAX_NS),
    AT(struct record_times, median, FIELD_REAL, 0, MAX_NS),       AT(struct record_times, min, FIELD_REAL, 0, MAX_NS),
    AT(struct record_times, max, FIELD_REAL, 0, MAX_NS),          AT(struct record_times, std, FIELD_REAL, 0, MAX_NS),
};
static const struct field_table times_table = TABLE(times_fields);

static const struct field cell_fields[] = {
    CHECKED("schema"),
    CHECKED("kind"),
    AT(struct record, cell, FIELD_DIGEST, 0, 0),
    AT(struct record, setting, FIELD_DIGEST, 0, 0),
    AT(struct record, candidate, FIELD_DIGEST, 0, 0),
    AT(struct record, model, FIELD_NAME, 0, 0),
    AT(struct record, problem, FIELD_NAME, 0, 0),
    AT(struct record, family, FIELD_NAME, 0, 0),
    AT(struct record, dtype, FIELD_NAME, 0, 0),
    AT(struct record, shape, FIELD_NAME, 0, 0),
    AT(struct record, device, FIELD_NAME, 0, 0),
    AT(struct record, sample, FIELD_INT, 0, MAX_NUMBER),
    AT(struct record, world, FIELD_INT, 1, MAX_NUMBER),
    AT(struct record, nodes, FIELD_INT, 1, MAX_NUMBER),
    AT(struct record, seed, FIELD_SEED, 0, 0),
    AT(struct record, outcome, FIELD_OUTCOME, 0, 0),
    AT(struct record, rank, FIELD_INT, -1, MAX_NUMBER),
    AT(struct record, detail, FIELD_TEXT, 0, 0),
    TIMES_AT(struct record, baseline),
    TIMES_AT(struct record, time),
    AT(struct record, speedup, FIELD_REAL, 0, MAX_RATIO),
    AT(struct record, attempt, FIELD_INT, 1, MAX_NUMBER),
    AT(struct record, started, FIELD_UTC, 0, 0),
    AT(struct record, more, FIELD_JSON, 0, 0),
};
static const struct field_table cell_table = TABLE(cell_fields);

static const struct field baseline_fields[] = {
    CHECKED("schema"),
    CHECKED("kind"),
    AT(struct record_baseline, setting, FIELD_DIGEST, 0, 0),
    AT(struct record_baseline, problem, FIELD_NAME, 0, 0),
    AT(struct record_baseline, family, FIELD_NAME, 0, 0),
    AT(struct record_baseline, dtype, FIELD_NAME, 0, 0),
    AT(struct record_baseline, shape, FIELD_NAME, 0, 0),
    AT(struct record_baseline, device, FIELD_NAME, 0, 0),
    AT(struct record_baseline, world, FIELD_INT, 1, MAX_NUMBER),
    AT(struct record_baseline, nodes, FIELD_INT, 1, MAX_NUMBER),
    AT(struct record_baseline, attempt, FIELD_INT, 1, MAX_NUMBER),
    TIMES_AT(struct record_baseline, before),
    TIMES_AT(struct record_baseline, after),
    AT(struct record_baseline, drift, FIELD_REAL, -1, MAX_RATIO),
    AT(struct record_baseline, started, FIELD_UTC, 0, 0),
    AT(struct record_baseline, more, FIELD_JSON, 0, 0),
};
static const struct field_table baseline_table = TABLE(baseline_fields);

/* ---- what must hold between members --------------------------------------------------------------------------------- */

static int check_times(const char *name, const struct record_times *t, struct pkb_error *err)
{
    double slack = t->max * ROUNDING;
    if (t->iterations == 0)
        return 0;
    if (t->min <= 0)
        return pkb_error_set(err, "%s: min: %g ns is not a time", name, t->min);
    if (t->median < t->min - slack || t->median > t->max + slack || t->mean < t->min - slack || t->mean > t->max + slack)
        return pkb_error_set(err, "%s: mean or median is not between min and max", name);
    if (t->std > t->max - t->min + slack)
        return pkb_error_set(err, "%s: std is larger than max - min", name);
    return 0;
}

/* A ratio of two means, given where both were measured and only there. */
static int check_ratio(const char *name, double given, double expect, bool measured, struct pkb_error *err)
{
    if (!measured && given != 0)
        return pkb_error_set(err, "%s: %g without both times", name, given);
    if (measured && fabs(given - expect) > RATIO_SLACK * fmax(fabs(expect), 1))
        return pkb_error_set(err, "%s: %g does not agree with the times (%g)", name, given, expect);
    return 0;
}

static int check_place(int world, int nodes, int rank, struct pkb_error *err)
{
    if (nodes > world)
        return pkb_error_set(err, "nodes: %d, more than the %d ranks", nodes, world);
    if (rank >= world)
        return pkb_error_set(err, "rank: %d, but there are %d ranks", rank, world);
    return 0;
}

static int check_cell(const struct record *r, struct pkb_error *err)
{
    bool both = r->baseline.iterations > 0 && r->time.iterations > 0;
    if (check_place(r->world, r->nodes, r->rank, err) < 0 || check_times("baseline", &r->baseline, err) < 0 ||
        check_times("time", &r->time, err) < 0)
        return -1;
    return check_ratio("speedup", r->speedup, both ? r->baseline.mean / r->time.mean : 0, both, err);
}

static int check_baseline(const struct record_baseline *b, struct pkb_error *err)
{
    bool both = b->before.iterations > 0 && b->after.iterations > 0;
    if (check_place(b->world, b->nodes, -1, err) < 0 || check_times("before", &b->before, err) < 0 ||
        check_times("after", &b->after, err) < 0)
        return -1;
    return check_ratio("drift", b->drift, both ? b->after.mean / b->before.mean - 1 : 0, both, err);
}

/* ---- reading -------------------------------------------------------------------------------------------------------- */

int record_read_cell(const struct value *object, value_members_fn *members, struct record *r, struct pkb_error *err)
{
    memset(r, 0, sizeof(*r));
    if (fields_read(&cell_table, object, members, r, err) == 0 && check_cell(r, err) == 0)
        return 0;
    record_clear(r);
    return -1;
}

int record_read_baseline(const struct value *object, value_members_fn *members, struct record_baseline *b, struct pkb_error *err)
{
    memset(b, 0, sizeof(*b));
    if (fields_read(&baseline_table, object, members, b, err) == 0 && check_baseline(b, err) == 0)
        return 0;
    record_baseline_clear(b);
    return -1;
}

struct heading {
    int64_t schema;
    int kind;
    bool have_schema, have_kind;
};

static int read_heading(void *arg, const char *key, size_t size, const struct value *v, struct pkb_error *err)
{
    struct heading *h = arg;
    if (size == 6 && memcmp(key, "schema", 6) == 0) {
        if (v->kind != VALUE_INTEGER)
            return pkb_error_set(err, "schema: expected an integer");
        h->schema = v->integer;
        h->have_schema = true;
    } else if (size == 4 && memcmp(key, "kind", 4) == 0) {
        if (v->kind != VALUE_STRING)
            return pkb_error_set(err, "kind: expected a string");
        h->kind = v->size == 4 && memcmp(v->text, "cell", 4) == 0       ? RECORD_CELL
                  : v->size == 8 && memcmp(v->text, "baseline", 8) == 0 ? RECORD_BASELINE
                                                                        : -1;
        h->have_kind = true;
    }
    return h->have_schema && h->have_kind;
}

int record_read_kind(const struct value *object, value_members_fn *members, enum record_kind *kind, struct pkb_error *err)
{
    struct heading h = {.kind = -1};
    if (members(object, read_heading, &h, err) < 0)
        return -1;
    if (!h.have_schema)
        return pkb_error_set(err, "schema: missing");
    if (h.schema != RECORD_SCHEMA) {
        pkb_error_set(err, "schema %lld is unknown (this pkb reads %d): use the pkb that wrote it, or a newer one",
                      (long long)h.schema, RECORD_SCHEMA);
        return -2;
    }
    if (!h.have_kind)
        return pkb_error_set(err, "kind: missing");
    if (h.kind < 0) {
        pkb_error_set(err, "kind: expected \"cell\" or \"baseline\"");
        return -2;
    }
    *kind = (enum record_kind)h.kind;
    return 0;
}
