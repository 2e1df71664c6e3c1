/* SPDX-License-Identifier: Apache-2.0 */
/* Fields that are sets of names or numbers. Order and repetition mean nothing: they are sorted, and equal entries are one. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sweeps/fields.h"
#include "util/file.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* Inserts a number into a sorted set. */
static int add_number(int **list, int *n, int value, struct pkb_error *err)
{
    int at = 0;
    while (at < *n && (*list)[at] < value)
        at++;
    if (at < *n && (*list)[at] == value)
        return 0;
    int *grown = reallocarray(*list, (size_t)*n + 1, sizeof(**list));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    memmove(grown + at + 1, grown + at, (size_t)(*n - at) * sizeof(*grown));
    grown[at] = value;
    *list = grown;
    (*n)++;
    return 0;
}

/* ---- candidates ---------------------------------------------------------------------------------------------------- */

int sweep_read_candidates(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    const char *text;
    struct stat st;
    if (!value)
        return pkb_error_set(err, "missing; it names the folder with the models' candidates");
    if (sweep_text(value, &text, err) < 0)
        return -1;
    char *joined = text[0] == '/' ? strdup(text) : pkb_format(err, "%s/%s", r->folder, text);
    if (!joined)
        return pkb_error_set(err, "out of memory");
    char *path = realpath(joined, NULL);
    int rc =
        path ? 0 : pkb_error_set(err, "%s: %s; it names the folder that holds MODEL/NN_name/SAMPLE.c", joined, strerror(errno));
    free(joined);
    r->sweep->candidates = path;
    if (rc == 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
        rc = pkb_error_set(err, "%s is not a folder", path);
    return rc;
}

/* ---- problems ------------------------------------------------------------------------------------------------------ */

static int add_problem(struct sweep *s, const struct problem *p, struct pkb_error *err)
{
    int at = 0;
    while (at < s->n_problems && s->problems[at]->id < p->id)
        at++;
    if (at < s->n_problems && s->problems[at] == p)
        return 0;
    const struct problem **grown = reallocarray(s->problems, (size_t)s->n_problems + 1, sizeof(*grown));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    memmove(grown + at + 1, grown + at, (size_t)(s->n_problems - at) * sizeof(*grown));
    grown[at] = p;
    s->problems = grown;
    s->n_problems++;
    return 0;
}

static int unknown_problem(const char *name, struct pkb_error *err)
{
    const char *names[512];
    size_t n = 0;
    for (const struct problem *const *p = problem_registry; *p && n + 1 < COUNT(names); p++) {
        names[n++] = (*p)->name;
        names[n++] = strchr((*p)->name, '_') ? strchr((*p)->name, '_') + 1 : (*p)->name;
    }
    return sweep_unknown(name, names, n, err, "\"%.100s\" is not a problem", name);
}

static int add_matching(struct sweep *s, const char *pattern, struct pkb_error *err)
{
    int found = 0;
    for (const struct problem *const *p = problem_registry; *p; p++) {
        if (fnmatch(pattern, (*p)->name, 0) != 0)
            continue;
        if (add_problem(s, *p, err) < 0)
            return -1;
        found++;
    }
    return found ? 0 : pkb_error_set(err, "no problem matches \"%.100s\"", pattern);
}

static int read_problem(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    const char *name;
    int64_t id;
    const struct problem *p;
    if (json_is_number(entry)) {
        if (sweep_integer(entry, 1, INT_MAX, &id, err) < 0)
            return -1;
        p = problem_by_id((int)id);
        return p ? add_problem(r->sweep, p, err) : pkb_error_set(err, "there is no problem %lld", (long long)id);
    }
    if (sweep_text(entry, &name, err) < 0)
        return -1;
    if (is_pattern(name))
        return add_matching(r->sweep, name, err);
    p = problem_by_name(name);
    return p ? add_problem(r->sweep, p, err) : unknown_problem(name, err);
}

int sweep_read_problems(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    if (!value)
        return pkb_error_set(err, "missing; problems.all stands for all");
    return sweep_each(r, value, read_problem, err);
}

/* ---- models -------------------------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_model(const char *store, const char *name)
{
    struct stat st;
    struct pkb_error ignored;
    if (name[0] == '.')
        return false;
    char *path = pkb_format(&ignored, "%s/%s", store, name);
    bool yes = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    free(path);
    return yes;
}

static int add_folder(struct sweep_reader *r, const char *name, struct pkb_error *err)
{
    char **grown = reallocarray(r->models, r->n_models + 1, sizeof(*grown));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    r->models = grown;
    grown[r->n_models] = strdup(name);
    if (!grown[r->n_models])
        return pkb_error_set(err, "out of memory");
    r->n_models++;
    return 0;
}

/* The folders of the store. */
static int list_store(struct sweep_reader *r, struct pkb_error *err)
{
    const char *store = r->sweep->candidates;
    DIR *dir = opendir(store);
    if (!dir)
        return pkb_error_errno(err, "%s", store);
    int rc = 0;
    errno = 0;
    for (struct dirent *e = readdir(dir); rc == 0 && e; e = readdir(dir)) {
        if (is_model(store, e->d_name))
            rc = add_folder(r, e->d_name, err);
        errno = 0;
    }
    if (rc == 0 && errno)
        rc = pkb_error_errno(err, "%s", store);
    (void)closedir(dir);
    if (rc == 0 && r->n_models == 0)
        rc = pkb_error_set(err, "%s holds no folders; a model is a folder of the store", store);
    if (rc == 0)
        qsort(r->models, r->n_models, sizeof(*r->models), compare_names);
    return rc;
}

/* Makes room for one more model. */
static int grow_models(struct sweep *s, struct pkb_error *err)
{
    size_t n = (size_t)s->n_models + 1;
    char **models = reallocarray(s->models, n, sizeof(*models));
    if (!models)
        return pkb_error_set(err, "out of memory");
    s->models = models;
    bool *named = reallocarray(s->models_named, n, sizeof(*named));
    if (!named)
        return pkb_error_set(err, "out of memory");
    s->models_named = named;
    return 0;
}

static int add_model(struct sweep *s, const char *name, bool named, struct pkb_error *err)
{
    int at = 0;
    while (at < s->n_models && strcmp(s->models[at], name) < 0)
        at++;
    if (at < s->n_models && strcmp(s->models[at], name) == 0) {
        s->models_named[at] |= named;
        return 0;
    }
    if (grow_models(s, err) < 0)
        return -1;
    char *copy = strdup(name);
    if (!copy)
        return pkb_error_set(err, "out of memory");
    size_t behind = (size_t)(s->n_models - at);
    memmove(s->models + at + 1, s->models + at, behind * sizeof(*s->models));
    memmove(s->models_named + at + 1, s->models_named + at, behind * sizeof(*s->models_named));
    s->models[at] = copy;
    s->models_named[at] = named;
    s->n_models++;
    return 0;
}

static int read_model(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    const char *name;
    bool found = false;
    if (sweep_text(entry, &name, err) < 0)
        return -1;
    for (size_t i = 0; i < r->n_models; i++) {
        bool same = strcmp(name, r->models[i]) == 0;
        bool matches = same || (is_pattern(name) && fnmatch(name, r->models[i], 0) == 0);
        if (matches && add_model(r->sweep, r->models[i], same, err) < 0)
            return -1;
        found |= matches;
    }
    if (found)
        return 0;
    return sweep_unknown(name, (const char *const *)r->models, r->n_models, err, "\"%.100s\" is not a folder of %s", name,
                         r->sweep->candidates);
}

int sweep_read_models(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    if (list_store(r, err) < 0)
        return -1;
    if (value)
        return sweep_each(r, value, read_model, err);
    for (size_t i = 0; i < r->n_models; i++) {
        if (add_model(r->sweep, r->models[i], false, err) < 0)
            return -1;
    }
    return 0;
}

void sweep_reader_clear(struct sweep_reader *r)
{
    for (size_t i = 0; i < r->n_models; i++)
        free(r->models[i]);
    free(r->models);
    r->models = NULL;
    r->n_models = 0;
}

/* ---- samples, gpus, dtypes ----------------------------------------------------------------------------------------- */

static int read_sample(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    int64_t n;
    if (sweep_integer(entry, 1, 1000, &n, err) < 0)
        return -1;
    return add_number(&r->sweep->samples, &r->sweep->n_samples, (int)n, err);
}

int sweep_read_samples(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    int64_t count = 3;
    if (value && json_is_array(value))
        return sweep_each(r, value, read_sample, err);
    if (value && sweep_integer(value, 1, 1000, &count, err) < 0)
        return -1;
    for (int i = 1; i <= count; i++) {
        if (add_number(&r->sweep->samples, &r->sweep->n_samples, i, err) < 0)
            return -1;
    }
    return 0;
}

static int read_world(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    int64_t n;
    if (sweep_integer(entry, 1, PROBLEM_MAX_WORLD, &n, err) < 0)
        return -1;
    return add_number(&r->sweep->worlds, &r->sweep->n_worlds, (int)n, err);
}

int sweep_read_gpus(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    return value ? sweep_each(r, value, read_world, err) : add_number(&r->sweep->worlds, &r->sweep->n_worlds, 8, err);
}

static int read_dtype(struct sweep_reader *r, const json_t *entry, struct pkb_error *err)
{
    static const char *const names[] = {"bf16", "f16", "f32", "f64"};
    int i;
    if (sweep_word(entry, names, COUNT(names), &i, err) < 0)
        return -1;
    return add_number(&r->sweep->dtypes, &r->sweep->n_dtypes, dtype_parse(names[i]), err);
}

int sweep_read_dtypes(struct sweep_reader *r, const json_t *value, struct pkb_error *err)
{
    return value ? sweep_each(r, value, read_dtype, err) : add_number(&r->sweep->dtypes, &r->sweep->n_dtypes, PKB_BF16, err);
}
