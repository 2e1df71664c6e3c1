/* SPDX-License-Identifier: Apache-2.0 */
#include "results/fields.h"

#include <math.h>
#include <string.h>

#include "results/record.h"
#include "results/scan.h"

static const char *const kind_names[] = {
    [VALUE_NULL] = "null",   [VALUE_BOOL] = "true or false", [VALUE_STRING] = "a string", [VALUE_INTEGER] = "an integer",
    [VALUE_REAL] = "a real", [VALUE_OBJECT] = "an object",   [VALUE_ARRAY] = "a list",
};

static int expected(const char *what, const struct value *v, struct pkb_error *err)
{
    return pkb_error_set(err, "expected %s, found %s", what, kind_names[v->kind]);
}

/* Copies the text of a string with its final 0. */
static int copy_text(const struct value *v, char *out, size_t size, struct pkb_error *err)
{
    if (v->kind != VALUE_STRING)
        return expected("a string", v, err);
    if (v->escaped) {
        if (scan_unescape(v->text, v->size, out, size) < 0)
            return pkb_error_set(err, "longer than %zu bytes", size - 1);
        return 0;
    }
    if (v->size >= size)
        return pkb_error_set(err, "%zu bytes, longer than %zu", v->size, size - 1);
    memcpy(out, v->text, v->size);
    out[v->size] = '\0';
    return 0;
}

static int read_digest(const struct value *v, char *out, struct pkb_error *err)
{
    if (copy_text(v, out, PKB_DIGEST_HEX, err) < 0)
        return -1;
    if (strspn(out, "0123456789abcdef") != PKB_DIGEST_HEX - 1)
        return pkb_error_set(err, "expected 64 hexadecimal digits");
    return 0;
}

static int read_name(const struct value *v, char *out, size_t size, struct pkb_error *err)
{
    if (copy_text(v, out, size, err) < 0)
        return -1;
    if (out[0] == '\0')
        return pkb_error_set(err, "empty");
    for (const char *p = out; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return pkb_error_set(err, "has a control character");
    return 0;
}

static int read_utc(const struct value *v, char *out, size_t size, struct pkb_error *err)
{
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    if (copy_text(v, out, size, err) < 0)
        return -1;
    bool ok = strlen(out) == sizeof(form) - 1;
    for (size_t i = 0; ok && form[i]; i++)
        ok = form[i] == 'd' ? out[i] >= '0' && out[i] <= '9' : out[i] == form[i];
    return ok ? 0 : pkb_error_set(err, "expected a time like 2026-01-31T23:59:59Z");
}

static int read_int(const struct field *f, const struct value *v, int *out, struct pkb_error *err)
{
    if (v->kind != VALUE_INTEGER)
        return expected("an integer", v, err);
    if (v->integer < (int64_t)f->min || v->integer > (int64_t)f->max)
        return pkb_error_set(err, "%lld is outside %.0f..%.0f", (long long)v->integer, f->min, f->max);
    *out = (int)v->integer;
    return 0;
}

static int read_seed(const struct value *v, uint64_t *out, struct pkb_error *err)
{
    if (v->kind != VALUE_INTEGER)
        return expected("an integer", v, err);
    if (v->integer < 0)
        return pkb_error_set(err, "%lld is negative", (long long)v->integer);
    *out = (uint64_t)v->integer;
    return 0;
}

static int read_real(const struct field *f, const struct value *v, double *out, struct pkb_error *err)
{
    if (v->kind == VALUE_NULL)
        return 0;
    if (v->kind != VALUE_INTEGER && v->kind != VALUE_REAL)
        return expected("a number", v, err);
    double x = v->kind == VALUE_INTEGER ? (double)v->integer : v->real;
    if (!isfinite(x) || x < f->min || x > f->max)
        return pkb_error_set(err, "%g is outside %g..%g", x, f->min, f->max);
    *out = x;
    return 0;
}

static int read_outcome(const struct value *v, enum outcome *out, struct pkb_error *err)
{
    char name[32];
    if (copy_text(v, name, sizeof(name), err) < 0)
        return -1;
    int o = outcome_parse(name);
    if (o < 0)
        return pkb_error_set(err, "unknown outcome \"%s\"", name);
    *out = (enum outcome)o;
    return 0;
}

static int read_json(const struct value *v, json_t **out, struct pkb_error *err)
{
    if (v->kind != VALUE_OBJECT)
        return expected("an object", v, err);
    *out = json_incref(v->node); /* NULL stays NULL */
    return 0;
}

static int read_object(const struct field *f, const struct value *v, value_members_fn *members, void *out, struct pkb_error *err)
{
    if (v->kind == VALUE_NULL)
        return 0;
    if (v->kind != VALUE_OBJECT)
        return expected("an object or null", v, err);
    return fields_read(f->table, v, members, out, err);
}

static int read_field(const struct field *f, const struct value *v, value_members_fn *members, void *at, struct pkb_error *err)
{
    switch (f->kind) {
    case FIELD_ANY:
        return 0;
    case FIELD_DIGEST:
        return read_digest(v, at, err);
    case FIELD_NAME:
        return read_name(v, at, f->size, err);
    case FIELD_TEXT:
        return copy_text(v, at, f->size, err);
    case FIELD_UTC:
        return read_utc(v, at, f->size, err);
    case FIELD_INT:
        return read_int(f, v, at, err);
    case FIELD_SEED:
        return read_seed(v, at, err);
    case FIELD_REAL:
        return read_real(f, v, at, err);
    case FIELD_OUTCOME:
        return read_outcome(v, at, err);
    case FIELD_OBJECT:
        return read_object(f, v, members, at, err);
    case FIELD_JSON:
        return read_json(v, at, err);
    }
    return pkb_error_set(err, "unknown kind of field");
}

struct reading {
    const struct field_table *table;
    value_members_fn *members;
    char *out;
    int next; /* members mostly come in the table's order */
    uint32_t seen;
};

static int find(const struct reading *r, const char *key, size_t size)
{
    for (int k = 0; k < r->table->n; k++) {
        int i = (r->next + k) % r->table->n;
        const char *name = r->table->fields[i].name;
        if (name[0] == key[0] && strncmp(name, key, size) == 0 && name[size] == '\0')
            return i;
    }
    return -1;
}

static int read_member(void *arg, const char *key, size_t size, const struct value *v, struct pkb_error *err)
{
    struct reading *r = arg;
    int i = find(r, key, size);
    if (i < 0)
        return 0;
    const struct field *f = &r->table->fields[i];
    r->next = i + 1;
    if (r->seen & UINT32_C(1) << i)
        return pkb_error_set(err, "%s: given twice", f->name);
    r->seen |= UINT32_C(1) << i;
    if (read_field(f, v, r->members, r->out + f->offset, err) < 0)
        return pkb_error_prefix(err, "%s", f->name);
    return 0;
}

int fields_read(const struct field_table *table, const struct value *object, value_members_fn *members, void *out,
                struct pkb_error *err)
{
    struct reading r = {.table = table, .members = members, .out = out};
    if (members(object, read_member, &r, err) != 0)
        return -1;
    for (int i = 0; i < table->n; i++)
        if (!(r.seen & UINT32_C(1) << i))
            return pkb_error_set(err, "%s: missing", table->fields[i].name);
    return 0;
}
