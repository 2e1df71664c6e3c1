/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/json.h"

/* ---- description --------------------------------------------------------------------------------------------------- */

/* A case of integers alone has no T: any does. */
static int parse_dtype(const char *text, struct pkb_error *err)
{
    int dtype = dtype_parse(text);
    if (dtype < 0)
        return pkb_error_set(err, "unknown dtype '%s'", text);
    return dtype == PKB_I64 ? PKB_F32 : dtype;
}

int golden_case_describe(struct golden_case *c, struct pkb_error *err)
{
    bool fixed[PROBLEM_MAX_PARAMS] = {false};
    const char *dtype_text;
    int64_t world;
    if (pkb_json_int(c->meta, "world_size", 1, PROBLEM_MAX_WORLD, &world, err) < 0 ||
        pkb_json_string(c->meta, "dtype", &dtype_text, err) < 0)
        return -1;
    int dtype = parse_dtype(dtype_text, err);
    if (dtype < 0)
        return -1;
    problem_setting_init(&c->setting, c->problem, SHAPE_TINY, dtype, 0, (int)world);
    if (golden_scalars(c, fixed, err) < 0 || golden_arrays_read(c, "inputs", &c->in, err) < 0 ||
        golden_arrays_read(c, "outputs", &c->out, err) < 0)
        return -1;
    return golden_infer_sizes(c, fixed, err);
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
    return c->problem ? golden_case_describe(c, err) : 0;
}

int golden_case_load(struct golden_case *c, const char *folder, struct pkb_error *err)
{
    memset(c, 0, sizeof(*c));
    c->folder = pkb_format(err, "%s", folder);
    return c->folder ? read_meta(c, err) : -1;
}

void golden_case_destroy(struct golden_case *c)
{
    golden_arrays_destroy(&c->in);
    golden_arrays_destroy(&c->out);
    free(c->folder);
    json_decref(c->meta);
    memset(c, 0, sizeof(*c));
}

/* ---- inputs -------------------------------------------------------------------------------------------------------- */

static int set_element(pkb_tensor *t, size_t i, const json_t *value, struct pkb_error *err)
{
    double number = json_is_true(value) ? 1 : json_number_value(value);
    if (!json_is_number(value) && !json_is_boolean(value) && !json_is_null(value))
        return pkb_error_set(err, "the scalar is not a number");
    dtype_from_f64(t->dtype, (char *)t->data + i * dtype_size(t->dtype), &number, 1);
    return 0;
}

/* A number, or a list of as many as there are elements. */
static int load_scalar(const json_t *value, pkb_tensor *t, struct pkb_error *err)
{
    int64_t n;
    if (tensor_numel(t, &n, err) < 0)
        return -1;
    if (n != (json_is_array(value) ? (int64_t)json_array_size(value) : 1))
        return pkb_error_set(err, "the scalar has not %lld elements", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (set_element(t, (size_t)i, json_is_array(value) ? json_array_get(value, (size_t)i) : value, err) < 0)
            return -1;
    }
    return 0;
}

/* The number of rows of the tensors whose rows input k counts. */
static int load_count(const struct golden_case *c, struct evaluation_rank *rank, int k, struct pkb_error *err)
{
    int64_t count = -1;
    for (int i = 0; i < rank->n_in; i++) {
        struct golden_source source;
        if (rank->inputs[i].rows_in != 1 + k)
            continue;
        golden_source_find(&c->in, rank->inputs[i].name, &source);
        int64_t rows = golden_source_rows(&source, rank->setting.rank);
        if (count >= 0 && rows != count)
            return pkb_error_set(err, "tensors of %lld and %lld rows", (long long)count, (long long)rows);
        count = rows;
    }
    memcpy(rank->set.in[k].data, &count, sizeof(count));
    return 0;
}

static int load_input(const struct golden_case *c, struct evaluation_rank *rank, int k, struct pkb_error *err)
{
    const struct problem_tensor *t = &rank->inputs[k];
    struct golden_source source;
    golden_source_find(&c->in, t->name, &source);
    if (source.n > 0)
        return golden_source_load(c, &source, rank->setting.rank, "in", t, rank->set.in[k].data, err);
    if (problem_counts_rows(rank->inputs, rank->n_in, k))
        return load_count(c, rank, k, err);
    return load_scalar(golden_scalar(c, t->name, rank->setting.rank), &rank->set.in[k], err);
}

static int load_inputs(const struct golden_case *c, struct evaluation *e, struct pkb_error *err)
{
    for (int q = 0; q < e->world; q++) {
        struct evaluation_rank *rank = &e->ranks[q];
        if (golden_rank_params(c, rank, err) < 0)
            return -1;
        for (int k = 0; k < rank->n_in; k++) {
            if (load_input(c, rank, k, err) < 0)
                return pkb_error_prefix(err, "rank %d: input %s", q, rank->inputs[k].name);
        }
    }
    return 0;
}

/* ---- comparison ---------------------------------------------------------------------------------------------------- */

/* The one place where tolerances are. Golden outputs that are not exact were computed with the same roundings as the references,
 * but other orders of additions inside a product or sum, which may flip a rounding. So an element may differ by one unit in
 * the last place (bf16), or 1e-5 (f32) or 1e-12 (f64) of itself, plus what the case's `sensitivity` says is noise, relative to the
 * largest element: in bf16 the rounding noise of the whole computation, in f32 the effect of changing the inputs by 1e-6 (about
 * that of all roundings), in f64 a millionth of that. An integer that is not exact (radii of 61, where bf16 decides what is rounded up)
 * may differ by 1. */
static struct problem_check tolerance_for(const struct golden_case *c, const json_t *entry, const pkb_tensor *expected,
                                          double largest)
{
    const json_t *measured = json_object_get(c->meta, "sensitivity");
    bool inexact = json_is_false(json_object_get(entry, "exact"));
    struct problem_check check = {.kind = inexact ? CHECK_CLOSE : CHECK_EXACT};
    bool wide = expected->dtype == PKB_F32 || expected->dtype == PKB_F64;
    double noise = json_is_number(measured) ? json_number_value(measured) : (wide ? 1e-6 : dtype_roundoff(expected->dtype));
    if (expected->dtype == PKB_F64)
        noise *= 1e-6;
    check.atol = dtype_is_float(expected->dtype) ? noise * largest : 1;
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

/* A difference as an error. */
static int settle(const struct problem_difference *d, int ndim, struct pkb_error *err)
{
    char text[256];
    if (d->ok)
        return 0;
    problem_difference_describe(d, ndim, text, sizeof(text));
    return pkb_error_set(err, "%s", text);
}

static int compare(const struct golden_case *c, const json_t *entry, const pkb_tensor *expected, const pkb_tensor *actual,
                   struct pkb_error *err)
{
    struct problem_difference d;
    double largest = 0;
    if (largest_magnitude(expected, &largest, err) < 0)
        return -1;
    struct problem_check check = tolerance_for(c, entry, expected, largest);
    problem_compare(&check, PROFILE_HARDENED, expected, actual, NULL, &d);
    return settle(&d, expected->ndim, err);
}

/* An output in place without an array: the input, bit for bit. */
static int compare_unchanged(const struct evaluation_rank *rank, int k, struct pkb_error *err)
{
    struct problem_check exact = {.kind = CHECK_EXACT};
    struct problem_difference d;
    const pkb_tensor *before = &rank->set.in[rank->outputs[k].in_place - 1];
    problem_compare(&exact, PROFILE_HARDENED, before, &rank->out[k], NULL, &d);
    return settle(&d, before->ndim, err);
}

/* The rows that count on both sides, which are as many. */
static int count_rows(const struct evaluation_rank *rank, int k, const struct golden_source *source, pkb_tensor *actual,
                      struct pkb_error *err)
{
    int64_t rows, golden = golden_source_rows(source, rank->setting.rank);
    if (rank->outputs[k].rows_in == 0)
        return 0;
    if (problem_rows(rank->outputs, rank->out, k, &rows, err) < 0)
        return -1;
    if (rows != golden)
        return pkb_error_set(err, "%lld rows, the case has %lld", (long long)rows, (long long)golden);
    actual->shape[0] = rows;
    return 0;
}

static int check_output(const struct golden_case *c, const struct evaluation_rank *rank, int k, struct pkb_error *err)
{
    struct golden_source source;
    pkb_tensor actual = rank->out[k], expected;
    size_t bytes = evaluation_bytes(&actual);
    golden_source_find(&c->out, rank->outputs[k].name, &source);
    if (source.n == 0 && problem_counts_rows(rank->outputs, rank->n_out, k))
        return 0; /* checked with what it counts */
    if (source.n == 0 && rank->outputs[k].in_place)
        return compare_unchanged(rank, k, err);
    if (count_rows(rank, k, &source, &actual, err) < 0)
        return -1;
    expected = actual;
    expected.data = calloc(1, bytes + 1);
    if (!expected.data)
        return pkb_error_errno(err, "%zu bytes", bytes);
    int rc = golden_source_load(c, &source, rank->setting.rank, "out", &rank->outputs[k], expected.data, err);
    if (rc == 0)
        rc = compare(c, source.part[0]->entry, &expected, &actual, err);
    free(expected.data);
    return rc;
}

static int check_outputs(const struct golden_case *c, const struct evaluation *e, struct pkb_error *err)
{
    for (int q = 0; q < e->world; q++) {
        const struct evaluation_rank *rank = &e->ranks[q];
        for (int k = 0; k < rank->n_out; k++) {
            if (check_output(c, rank, k, err) < 0)
                return pkb_error_prefix(err, "rank %d: output %s", q, rank->outputs[k].name);
        }
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
