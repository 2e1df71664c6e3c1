/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/eval.h"
#include "orchestrator/problem_text.h"
#include "runtime/dtype.h"
#include "util/file.h"

#define MAX_SOURCE (16 << 20)
#define MODEL "candidate"

void eval_remove(struct eval_place *place)
{
    int saved = errno;
    if (place->folder[0])
        (void)pkb_remove_tree(place->folder, NULL);
    free(place->sweep);
    free(place->run);
    *place = (struct eval_place){.folder = ""};
    errno = saved;
}

static int check_candidate(const char *path, const char **kind, struct pkb_error *err)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".c") != 0 && strcmp(dot, ".cu") != 0 && strcmp(dot, ".py") != 0))
        return pkb_error_set(err, "%s: a candidate is a .c, .cu or .py file", path);
    *kind = dot + 1;
    return access(path, R_OK) < 0 ? pkb_error_errno(err, "%s", path) : 0;
}

static int make_folder(struct eval_place *place, struct pkb_error *err)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(place->folder, sizeof(place->folder), "%s/pkb-eval.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (n < 0 || n >= (int)sizeof(place->folder) || !mkdtemp(place->folder)) {
        pkb_error_errno(err, "%s", place->folder);
        place->folder[0] = '\0';
        return -1;
    }
    return 0;
}

/* FOLDER/store/MODEL/NN_name/1.KIND */
static int copy_candidate(const struct eval_request *r, const char *folder, const char *kind, struct pkb_error *err)
{
    char *data = NULL, *path = NULL;
    size_t size;
    int rc = -1;
    if (pkb_file_read(r->candidate, MAX_SOURCE, &data, &size, err) < 0)
        return -1;
    char *store = pkb_format(err, "%s/store/" MODEL "/%s", folder, r->of->name);
    if (store && pkb_mkdirs(store, err) == 0)
        path = pkb_format(err, "%s/1.%s", store, kind);
    if (path)
        rc = pkb_file_write(path, data, size, err);
    free(path);
    free(store);
    free(data);
    return rc;
}

/* Splits "NAME=VALUE"; the name may be up to size - 1 long. */
static int split(const char *text, char *name, size_t size, double *value, struct pkb_error *err)
{
    const char *equals = strchr(text, '=');
    char *end = NULL;
    if (!equals || equals == text || (size_t)(equals - text) >= size)
        return pkb_error_set(err, "--set: expected NAME=VALUE, found '%s'", text);
    *value = strtod(equals + 1, &end);
    if (end == equals + 1 || *end || !isfinite(*value))
        return pkb_error_set(err, "--set %s: expected a number after '='", text);
    (void)snprintf(name, size, "%.*s", (int)(equals - text), text);
    return 0;
}

/* The shape as a sweep says it, its values checked against the problem. NULL with the error set. */
static char *make_shape(const struct eval_request *r, struct pkb_error *err)
{
    struct problem_setting s;
    char *shape =
        r->n_set ? pkb_format(err, "{ name = \"custom\", base = \"%s\"", r->shape) : pkb_format(err, "\"%s\"", r->shape);
    problem_setting_init(&s, r->of, strcmp(r->shape, "tiny") == 0 ? SHAPE_TINY : SHAPE_PAPER, dtype_parse(r->dtype), 0, r->gpus);
    for (int i = 0; i < r->n_set && shape; i++) {
        char name[64], *longer = NULL;
        double value = 0;
        if (split(r->set[i], name, sizeof(name), &value, err) == 0 && problem_setting_override(&s, name, value, err) == 0)
            longer = pkb_format(err, "%s, %s = %.17g%s", shape, name, value, i + 1 == r->n_set ? " }" : "");
        free(shape);
        shape = longer;
    }
    if (shape && problem_setting_check(&s, err) < 0) {
        free(shape);
        shape = NULL;
    }
    return shape;
}

static char *write_sweep(const struct eval_request *r, const char *shape, const char *folder, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/eval.lua", folder);
    /* The words come from tables of ours or were checked: none needs quoting. */
    char *text =
        pkb_format(err,
                   "return sweep {\n    name = \"eval\", candidates = \"store\", models = { \"" MODEL "\" }, samples = { 1 },\n"
                   "    problems = { \"%s\" }, gpus = { %d }, dtypes = { \"%s\" }, shapes = { %s }, device = \"%s\",\n"
                   "    trials = %d, iterations = { warmup = %d, timed = %d },\n"
                   "    limits = { seconds = %.17g, memory_mb = %lld },\n}\n",
                   r->of->name, r->gpus, r->dtype, shape, r->device, r->trials, r->warmup, r->iterations, r->limit_seconds,
                   (long long)r->limit_memory_mb);
    if (path && text && pkb_file_write(path, text, strlen(text), err) < 0) {
        free(path);
        path = NULL;
    }
    free(text);
    return text ? path : NULL;
}

int eval_prepare(struct eval_request *r, struct eval_place *place, struct pkb_error *err)
{
    const char *kind = "";
    *place = (struct eval_place){.folder = ""};
    r->of = problem_find(r->problem, err);
    if (!r->of || check_candidate(r->candidate, &kind, err) < 0)
        return PKB_EXIT_USAGE;
    char *shape = make_shape(r, err);
    if (!shape)
        return PKB_EXIT_USAGE;
    if (make_folder(place, err) == 0 && copy_candidate(r, place->folder, kind, err) == 0)
        place->sweep = write_sweep(r, shape, place->folder, err);
    free(shape);
    if (!place->sweep)
        return PKB_EXIT_SYSTEM;
    place->run = r->keep ? strdup(r->keep) : pkb_format(err, "%s/run", place->folder);
    return place->run ? PKB_EXIT_OK : PKB_EXIT_SYSTEM;
}
