/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record.h"

#include <string.h>

#include "results/record_fields.h"
#include "results/scan.h"

/* ---- encoding ------------------------------------------------------------------------------------------------------- */

/* Any bytes as a JSON string: what is not UTF-8 becomes '?'. */
static json_t *text_value(const char *text)
{
    char clean[sizeof(((struct record *)0)->detail)];
    size_t size = strnlen(text, sizeof(clean) - 1);
    for (size_t i = 0; i < size;) {
        size_t n = scan_utf8(text + i, size - i);
        if (n == 0)
            clean[i++] = '?';
        for (size_t k = 0; k < n; k++, i++)
            clean[i] = text[i];
    }
    return json_stringn(clean, size);
}

/* 0 means "not measured" in records, null in JSON. */
static json_t *ratio_value(double ratio, bool measured)
{
    return measured ? json_real(ratio) : json_null();
}

static json_t *times_value(const struct record_times *t)
{
    if (t->iterations == 0)
        return json_null();
    return json_pack("{si, sf, sf, sf, sf, sf}", "iterations", t->iterations, "mean", t->mean, "median", t->median, "min", t->min,
                     "max", t->max, "std", t->std);
}

static json_t *more_value(json_t *more)
{
    return more ? json_incref(more) : json_object();
}

json_t *record_encode(const struct record *r)
{
    bool both = r->baseline.iterations > 0 && r->time.iterations > 0;
    if (r->seed > INT64_MAX)
        return NULL;
    return json_pack("{si, ss, ss, ss, ss, ss, ss, ss, ss, ss, ss, si, si, si, sI, ss, si, so, so, so, so, si, ss, so}", /* */
                     "schema", RECORD_SCHEMA, "kind", "cell", "cell", r->cell, "setting", r->setting, "candidate", r->candidate,
                     "model", r->model, "problem", r->problem, "family", r->family, "dtype", r->dtype, "shape", r->shape,
                     "device", r->device, "sample", r->sample, "world", r->world, "nodes", r->nodes, "seed", (json_int_t)r->seed,
                     "outcome", outcome_name(r->outcome), "rank", r->rank, "detail", text_value(r->detail), "baseline",
                     times_value(&r->baseline), "time", times_value(&r->time), "speedup", ratio_value(r->speedup, both),
                     "attempt", r->attempt, "started", r->started, "more", more_value(r->more));
}

json_t *record_baseline_encode(const struct record_baseline *b)
{
    bool both = b->before.iterations > 0 && b->after.iterations > 0;
    return json_pack("{si, ss, ss, ss, ss, ss, ss, ss, si, si, si, so, so, so, ss, so}", /* */
                     "schema", RECORD_SCHEMA, "kind", "baseline", "setting", b->setting, "problem", b->problem, "family",
                     b->family, "dtype", b->dtype, "shape", b->shape, "device", b->device, "world", b->world, "nodes", b->nodes,
                     "attempt", b->attempt, "before", times_value(&b->before), "after", times_value(&b->after), "drift",
                     ratio_value(b->drift, both), "started", b->started, "more", more_value(b->more));
}

/* ---- decoding ------------------------------------------------------------------------------------------------------- */

static struct value value_of(json_t *node)
{
    struct value v = {.node = node};
    switch (json_typeof(node)) {
    case JSON_NULL:
        v.kind = VALUE_NULL;
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        v.kind = VALUE_BOOL;
        break;
    case JSON_STRING:
        v.kind = VALUE_STRING;
        v.text = json_string_value(node);
        v.size = json_string_length(node);
        break;
    case JSON_INTEGER:
        v.kind = VALUE_INTEGER;
        v.integer = json_integer_value(node);
        break;
    case JSON_REAL:
        v.kind = VALUE_REAL;
        v.real = json_real_value(node);
        break;
    case JSON_OBJECT:
        v.kind = VALUE_OBJECT;
        break;
    case JSON_ARRAY:
        v.kind = VALUE_ARRAY;
        break;
    }
    return v;
}

static int members(const struct value *object, value_visit_fn *visit, void *arg, struct pkb_error *err)
{
    const char *key;
    json_t *node;
    json_object_foreach(object->node, key, node)
    {
        struct value v = value_of(node);
        int rc = visit(arg, key, strlen(key), &v, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int object_of(const json_t *value, struct value *v, struct pkb_error *err)
{
    if (!json_is_object(value))
        return pkb_error_set(err, "not a JSON object");
    *v = value_of((json_t *)value);
    return 0;
}

int record_kind_of(const json_t *value, enum record_kind *kind, struct pkb_error *err)
{
    struct value v;
    if (object_of(value, &v, err) < 0)
        return -1;
    return record_read_kind(&v, members, kind, err) < 0 ? -1 : 0;
}

static int expect_kind(const json_t *value, enum record_kind want, struct value *v, struct pkb_error *err)
{
    enum record_kind kind;
    if (object_of(value, v, err) < 0 || record_read_kind(v, members, &kind, err) < 0)
        return -1;
    return kind == want ? 0 : pkb_error_set(err, "kind: another kind of record");
}

int record_decode(const json_t *value, struct record *r, struct pkb_error *err)
{
    struct value v;
    if (expect_kind(value, RECORD_CELL, &v, err) < 0)
        return -1;
    return record_read_cell(&v, members, r, err);
}

int record_baseline_decode(const json_t *value, struct record_baseline *b, struct pkb_error *err)
{
    struct value v;
    if (expect_kind(value, RECORD_BASELINE, &v, err) < 0)
        return -1;
    return record_read_baseline(&v, members, b, err);
}

void record_clear(struct record *r)
{
    if (!r)
        return;
    json_decref(r->more);
    r->more = NULL;
}

void record_baseline_clear(struct record_baseline *b)
{
    if (!b)
        return;
    json_decref(b->more);
    b->more = NULL;
}
