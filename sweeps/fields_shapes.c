/* SPDX-License-Identifier: Apache-2.0 */
/* The field `shapes`: the built-in parameter values, and named ones of the sweep's own. */
#include <stdlib.h>
#include <string.h>

#include "sweeps/fields.h"

static const char *const built_in[] = {"paper", "tiny"}; /* in the order of enum problem_shape */

/* A place for one more shape, zeroed, which belongs to the sweep. */
static struct sweep_shape *new_shape(struct sweep *s, const char *name, struct pkb_error *err)
{
    struct sweep_shape *grown = reallocarray(s->shapes, (size_t)s->n_shapes + 1, sizeof(*grown));
    if (!grown) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    s->shapes = grown;
    struct sweep_shape *shape = &grown[s->n_shapes];
    memset(shape, 0, sizeof(*shape));
    if (sweep_keep(&shape->name, name, err) < 0)
        return NULL;
    s->n_shapes++;
    return shape;
}

static bool has_shape(const struct sweep *s, const char *name)
{
    for (int i = 0; i < s->n_shapes; i++) {
        if (strcmp(s->shapes[i].name, name) == 0)
            return true;
    }
    return false;
}

static int read_built_in(struct sweep *s, const json_t *entry, struct pkb_error *err)
{
    int i;
    if (sweep_word(entry, built_in, 2, &i, err) < 0)
        return -1;
    if (has_shape(s, built_in[i]))
        return 0;
    struct sweep_shape *shape = new_shape(s, built_in[i], err);
    if (!shape)
        return -1;
    shape->base = i == 0 ? SHAPE_PAPER : SHAPE_TINY;
    return 0;
}

static bool has_param(const struct problem *p, const char *name)
{
    for (int i = 0; i < p->n_params; i++) {
        if (strcmp(p->params[i].name, name) == 0)
            return true;
    }
    return false;
}

static int unknown_param(const struct sweep *s, const char *name, struct pkb_error *err)
{
    const char *names[512];
    size_t n = 0;
    for (int i = 0; i < s->n_problems; i++) {
        for (int k = 0; k < s->problems[i]->n_params && n < 512; k++)
            names[n++] = s->problems[i]->params[k].name;
    }
    return sweep_unknown(name, names, n, err, "no problem of the sweep has a parameter \"%.64s\"", name);
}

/* The value must suit every problem that has the parameter. */
static int check_override(const struct sweep *s, const char *name, double value, struct pkb_error *err)
{
    int users = 0;
    for (int i = 0; i < s->n_problems; i++) {
        struct problem_setting setting;
        if (!has_param(s->problems[i], name))
            continue;
        problem_setting_init(&setting, s->problems[i], SHAPE_PAPER, PKB_BF16, 0, 1);
        if (problem_setting_override(&setting, name, value, err) < 0)
            return -1;
        users++;
    }
    return users ? 0 : unknown_param(s, name, err);
}

static int add_override(struct sweep *s, struct sweep_shape *shape, const char *name, const json_t *value, struct pkb_error *err)
{
    double number;
    if (!json_is_number(value))
        return pkb_error_set(err, "%s: expected a number, found %s", name, sweep_describe(value));
    number = json_number_value(value);
    if (check_override(s, name, number, err) < 0)
        return -1;
    struct sweep_override *grown = reallocarray(shape->overrides, (size_t)shape->n_overrides + 1, sizeof(*grown));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    shape->overrides = grown;
    grown[shape->n_overrides] = (struct sweep_override){.value = number};
    if (sweep_keep(&grown[shape->n_overrides].param, name, err) < 0)
        return -1;
    shape->n_overrides++;
    return 0;
}

static int read_overrides(struct sweep *s, struct sweep_shape *shape, const json_t *entry, struct pkb_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)entry, key, value)
    {
        if (strcmp(key, "name") != 0 && strcmp(key, "base") != 0 && add_override(s, shape, key, value, err) < 0)
            return -1;
    }
    return shape->n_overrides ? 0 : pkb_error_set(err, "sets no parameter: { name = \"wide\", N = 4096 }");
}

static int read_custom(struct sweep *s, const json_t *entry, struct pkb_error *err)
{
    const char *name;
    int base = 0;
    const json_t *given = json_object_get(entry, "name");
    if (!given)
        return pkb_error_set(err, "a shape needs a name: { name = \"wide\", N = 4096 }");
    if (sweep_text(given, &name, err) < 0 || sweep_file_name(name, 40, err) < 0)
        return pkb_error_prefix(err, "name");
    if (strcmp(name, built_in[0]) == 0 || strcmp(name, built_in[1]) == 0)
        return pkb_error_set(err, "the name \"%s\" is taken by the built-in shape", name);
    if (has_shape(s, name))
        return pkb_error_set(err, "there are two shapes \"%s\"", name);
    given = json_object_get(entry, "base");
    if (given && sweep_word(given, built_in, 2, &base, err) < 0)
        return pkb_error_prefix(err, "base");
    struct sweep_shape *shape = new_shape(s, name, err);
    if (!shape)
        return -1;
    shape->base = base == 0 ? SHAPE_PAPER : SHAPE_TINY;
    return read_overrides(s, shape, entry, err) < 0 ? pkb_error_prefix(err, "\"%s\"", name) : 0;
}

static int read_shape(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    if (json_is_object(entry))
        return read_custom(r->sweep, entry, err);
    if (!json_is_string(entry))
        return pkb_error_set(err, "expected \"paper\", \"tiny\" or { name = ..., PARAMETER = ... }, found %s",
                             sweep_describe(entry));
    return read_built_in(r->sweep, entry, err);
}

static int compare_shapes(const void *a, const void *b)
{
    return strcmp(((const struct sweep_shape *)a)->name, ((const struct sweep_shape *)b)->name);
}

int sweep_read_shapes(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    if (!value)
        return new_shape(r->sweep, built_in[0], err) ? 0 : -1;
    if (sweep_each(r, value, read_shape, err) < 0)
        return -1;
    qsort(r->sweep->shapes, (size_t)r->sweep->n_shapes, sizeof(*r->sweep->shapes), compare_shapes);
    return 0;
}
