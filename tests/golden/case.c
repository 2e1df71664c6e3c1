/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/golden/npy.h"
#include "tests/support/evaluate.h"
#include "util/file.h"
#include "util/json.h"

/* No golden array is larger. */
#define LARGEST_FILE ((size_t)64 << 20)

/* ---- description --------------------------------------------------------------------------------------------------- */

static int apply_scalar(struct problem_setting *s, const char *name, const json_t *value, struct pkb_error *err)
{
    if (json_is_boolean(value))
        return problem_setting_override(s, name, json_is_true(value), err);
    if (!json_is_number(value))
        return pkb_error_set(err, "scalar %s is not a number", name);
    return problem_setting_override(s, name, json_number_value(value), err);
}

/* Scalars are parameters; null means not given. */
static int apply_scalars(struct golden_case *c, bool fixed[PROBLEM_MAX_PARAMS], struct pkb_error *err)
{
    json_t *scalars;
    const char *name;
    json_t *value;
    if (pkb_json_object(c->meta, "scalars", &scalars, err) < 0)
        return -1;
    if (json_object_get(c->meta, "scalars_per_rank"))
        return pkb_error_set(err, "scalars that differ between ranks are not supported");
    json_object_foreach(scalars, name, value)
    {
        if (!json_is_null(value) && apply_scalar(&c->setting, name, value, err) < 0)
            return -1;
        for (int i = 0; i < c->problem->n_params; i++)
            fixed[i] = fixed[i] || strcmp(c->problem->params[i].name, name) == 0;
    }
    return 0;
}

static int read_setting(struct golden_case *c, struct pkb_error *err)
{
    bool fixed[PROBLEM_MAX_PARAMS] = {false};
    const char *dtype_text;
    int64_t world;
    json_t *inputs;
    if (pkb_json_int(c->meta, "world_size", 1, PROBLEM_MAX_WORLD, &world, err) < 0 ||
        pkb_json_string(c->meta, "dtype", &dtype_text, err) < 0 || pkb_json_array(c->meta, "inputs", &inputs, err) < 0)
        return -1;
    int dtype = dtype_parse(dtype_text);
    if (dtype < 0)
        return pkb_error_set(err, "unknown dtype '%s'", dtype_text);
    problem_setting_init(&c->setting, c->problem, SHAPE_TINY, dtype, 0, (int)world);
    if (apply_scalars(c, fixed, err) < 0)
        return -1;
    return golden_infer_sizes(&c->setting, inputs, fixed, err);
}

static int read_meta(struct golden_case *c, struct pkb_error *err)
{
    int64_t format, id;
    char *path = pkb_format(err, "%s/meta.json", c->folder);
    if (!path)
        return -1;
    c->meta = pkb_json_read(path, err);
    free(path);
    if (!c->meta || pkb_json_int(c->meta, "format", 1, 1, &format, err) < 0 ||
        pkb_json_int(c->meta, "problem_id", 1, 1000, &id, err) < 0)
        return -1;
    c->problem = problem_by_id((int)id);
    return c->problem ? read_setting(c, err) : 0;
}

int golden_case_load(struct golden_case *c, const char *folder, struct pkb_error *err)
{
    memset(c, 0, sizeof(*c));
    c->folder = pkb_format(err, "%s", folder);
    return c->folder ? read_meta(c, err) : -1;
}

void golden_case_destroy(struct golden_case *c)
{
    free(c->folder);
    json_decref(c->meta);
    memset(c, 0, sizeof(*c));
}

/* ---- arrays -------------------------------------------------------------------------------------------------------- */

static int take_array(const char *contents, size_t size, const json_t *entry, const pkb_tensor *form, void *dst,
                      struct pkb_error *err)
{
    struct npy array;
    pkb_tensor t;
    const char *dtype;
    char ours[80], theirs[80];
    if (pkb_json_string(entry, "dtype", &dtype, err) < 0 || npy_parse(contents, size, &array, err) < 0 ||
        npy_tensor(&array, dtype, &t, err) < 0)
        return -1;
    if (!tensor_same_form(&t, form)) {
        tensor_describe(form, ours, sizeof(ours));
        tensor_describe(&t, theirs, sizeof(theirs));
        return pkb_error_set(err, "the problem has %s, the file %s", ours, theirs);
    }
    memcpy(dst, t.data, array.bytes);
    return 0;
}

/* Reads FOLDER/rank<r>_<direction>_<name>.npy, an array of that form, into dst. */
static int read_array(const struct golden_case *c, int rank, const char *direction, const json_t *entry, const pkb_tensor *form,
                      void *dst, struct pkb_error *err)
{
    const char *name;
    char *contents = NULL;
    size_t size = 0;
    if (pkb_json_string(entry, "name", &name, err) < 0)
        return -1;
    char *path = pkb_format(err, "%s/rank%d_%s_%s.npy", c->folder, rank, direction, name);
    if (!path)
        return -1;
    int rc = pkb_file_read(path, LARGEST_FILE, &contents, &size, err);
    if (rc == 0) {
        rc = take_array(contents, size, entry, form, dst, err);
        if (rc < 0)
            pkb_error_prefix(err, "%s", path);
    }
    free(contents);
    free(path);
    return rc;
}

/* As many arrays as tensors: then every array is used, as every tensor has one. */
static int check_count(const json_t *list, int n, const char *what, struct pkb_error *err)
{
    if (json_array_size(list) != (size_t)n)
        return pkb_error_set(err, "the case has %zu %s, the problem %d", json_array_size(list), what, n);
    return 0;
}

static int load_inputs(const struct golden_case *c, struct evaluation *e, struct pkb_error *err)
{
    const json_t *list = json_object_get(c->meta, "inputs");
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    for (int q = 0; q < e->world; q++) {
        struct evaluation_rank *rank = &e->ranks[q];
        int n = c->problem->inputs(&rank->setting, t);
        if (check_count(list, n, "inputs", err) < 0)
            return -1;
        for (int i = 0; i < n; i++) {
            const json_t *entry = golden_find_array(list, t[i].name);
            if (read_array(c, q, "in", entry, &t[i].form, rank->set.in[i].data, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* ---- comparison ---------------------------------------------------------------------------------------------------- */

/* The one place where tolerances are. Golden outputs that are not exact were computed with the same roundings as the references,
 * but other orders of additions inside a product or sum, which may flip a rounding. So an element may differ by one unit in
 * the last place (bf16), or 1e-5 (f32) or 1e-12 (f64) of itself, plus what the case's `sensitivity` says is noise, relative to the
 * largest element: in bf16 the rounding noise of the whole computation, in f32 the effect of changing the inputs by 1e-6 (about
 * that of all roundings), in f64 a millionth of that. */
static struct problem_check tolerance_for(const struct golden_case *c, const json_t *entry, const pkb_tensor *expected,
                                          double largest)
{
    const json_t *measured = json_object_get(c->meta, "sensitivity");
    bool exact = json_is_true(json_object_get(entry, "exact")) || !dtype_is_float(expected->dtype);
    struct problem_check check = {.kind = exact ? CHECK_EXACT : CHECK_CLOSE};
    bool wide = expected->dtype == PKB_F32 || expected->dtype == PKB_F64;
    double noise = json_is_number(measured) ? json_number_value(measured) : (wide ? 1e-6 : dtype_roundoff(expected->dtype));
    if (expected->dtype == PKB_F64)
        noise *= 1e-6;
    check.atol = noise * largest;
    check.rtol = 2 * dtype_roundoff(expected->dtype);
    if (expected->dtype == PKB_F32)
        check.rtol = 1e-5;
    if (expected->dtype == PKB_F64)
        check.rtol = 1e-12;
    return check;
}

static int largest_magnitude(const pkb_tensor *t, double *largest, struct pkb_error *err)
{
    int64_t n = 0;
    if (tensor_numel(t, &n, err) < 0)
        return -1;
    double *values = calloc((size_t)n + 1, sizeof(*values));
    if (!values)
        return pkb_error_errno(err, "%lld values", (long long)n);
    dtype_to_f64(t->dtype, values, t->data, (size_t)n);
    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isfinite(values[i]))
            *largest = fmax(*largest, fabs(values[i]));
    }
    free(values);
    return 0;
}

static int compare_output(const struct golden_case *c, const json_t *entry, const pkb_tensor *expected, const pkb_tensor *actual,
                          struct pkb_error *err)
{
    struct problem_difference d;
    char text[256];
    double largest = 0;
    if (largest_magnitude(expected, &largest, err) < 0)
        return -1;
    struct problem_check check = tolerance_for(c, entry, expected, largest);
    problem_compare(&check, PROFILE_HARDENED, expected, actual, NULL, &d);
    if (d.ok)
        return 0;
    problem_difference_describe(&d, expected->ndim, text, sizeof(text));
    return pkb_error_set(err, "%s", text);
}

static int check_output(const struct golden_case *c, int rank, const char *name, const pkb_tensor *actual, struct pkb_error *err)
{
    const json_t *entry = golden_find_array(json_object_get(c->meta, "outputs"), name);
    pkb_tensor expected = *actual;
    size_t bytes = evaluation_bytes(actual);
    if (!entry)
        return pkb_error_set(err, "the case has no output %s", name);
    expected.data = malloc(bytes + 1);
    if (!expected.data)
        return pkb_error_errno(err, "%zu bytes", bytes);
    int rc = read_array(c, rank, "out", entry, actual, expected.data, err);
    if (rc == 0)
        rc = compare_output(c, entry, &expected, actual, err);
    free(expected.data);
    return rc == 0 ? 0 : pkb_error_prefix(err, "output %s", name);
}

static int check_outputs(const struct golden_case *c, const struct evaluation *e, struct pkb_error *err)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    for (int q = 0; q < e->world; q++) {
        const struct evaluation_rank *rank = &e->ranks[q];
        int n = c->problem->outputs(&rank->setting, t);
        int rc = check_count(json_object_get(c->meta, "outputs"), n, "outputs", err);
        for (int k = 0; k < n && rc == 0; k++)
            rc = check_output(c, q, t[k].name, &rank->out[k], err);
        if (rc < 0)
            return pkb_error_prefix(err, "rank %d", q);
    }
    return 0;
}

enum golden_verdict golden_case_run(const struct golden_case *c, struct pkb_error *err)
{
    if (!c->problem)
        return GOLDEN_NOT_IMPLEMENTED;
    struct evaluation *e = evaluation_create(&c->setting, err);
    int rc = e ? load_inputs(c, e, err) : -1;
    if (rc == 0)
        rc = evaluation_run(&e, 1, err);
    if (rc == 0)
        rc = check_outputs(c, e, err);
    evaluation_destroy(e);
    return rc == 0 ? GOLDEN_PASSED : GOLDEN_FAILED;
}
