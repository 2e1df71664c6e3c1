/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/census_run.h"

#include <stdlib.h>
#include <string.h>

#include "node_agent/build.h"
#include "util/file.h"

#define MAX_LISTING ((size_t)256 << 20)

static int read_source(const struct rundir *run, const struct plan_candidate *k, struct census *c, struct pkb_error *err)
{
    char *text = NULL, *path = rundir_candidate(run, k, err);
    size_t size;
    int rc = path ? pkb_file_read(path, CENSUS_MAX_SOURCE, &text, &size, err) : -1;
    if (rc == 0)
        rc = census_source(text, size, k->kind, c, err);
    free(text);
    free(path);
    return rc;
}

/* Whether there was a listing. A missing or unreadable one is none: the source has been read. */
static bool read_listing(const struct rundir *run, const struct build_toolchain *cuda, const struct plan_candidate *k,
                         struct census *c)
{
    char key[PKB_DIGEST_HEX], *text = NULL;
    size_t size;
    if (!cuda || strcmp(k->kind, "cu") != 0 || build_key(cuda, k->digest, key, NULL) < 0)
        return false;
    char *path = pkb_format(NULL, "%s/%s/sass", run->build_cache, key);
    bool there = path && pkb_file_read(path, MAX_LISTING, &text, &size, NULL) == 0;
    if (there)
        census_sass(text, size, c);
    free(text);
    free(path);
    return there;
}

static bool has_cuda(const struct plan *p)
{
    for (size_t i = 0; i < p->n_candidates; i++)
        if (strcmp(p->candidates[i].kind, "cu") == 0)
            return true;
    return false;
}

int census_run_load(const struct rundir *run, struct census_run *r, struct pkb_error *err)
{
    memset(r, 0, sizeof(*r));
    r->plan = plan_load_shard(run->path, 0, err);
    if (!r->plan)
        return -1;
    r->of = calloc(r->plan->n_candidates + 1, sizeof(*r->of));
    int rc = r->of ? 0 : pkb_error_set(err, "out of memory");
    struct build_toolchain *cuda = has_cuda(r->plan) ? build_toolchain_find("cu", NULL) : NULL;
    for (size_t i = 0; i < r->plan->n_candidates && rc == 0; i++) {
        rc = read_source(run, &r->plan->candidates[i], &r->of[i], err);
        if (rc == 0)
            r->listings += read_listing(run, cuda, &r->plan->candidates[i], &r->of[i]);
    }
    build_toolchain_destroy(cuda);
    if (rc < 0)
        census_run_clear(r);
    return rc;
}

void census_run_clear(struct census_run *r)
{
    plan_destroy(r->plan);
    free(r->of);
    memset(r, 0, sizeof(*r));
}

static struct census_model *find_model(struct census_model *models, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(models[i].name, name) == 0)
            return &models[i];
    models[*n] = (struct census_model){.name = name};
    return &models[(*n)++];
}

static void count(struct census_model *m, const struct census *c)
{
    bool any = false;
    m->candidates++;
    for (int i = 0; i < MECHANISM_COUNT; i++) {
        bool uses = census_uses(c, (enum mechanism)i);
        m->uses[i] += uses;
        any = any || uses;
    }
    m->host_only += !c->device_code;
    m->none += c->device_code && !any;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct census_model *)a)->name, ((const struct census_model *)b)->name);
}

struct census_model *census_run_models(const struct census_run *r, size_t *n, struct pkb_error *err)
{
    struct census_model *models = calloc(r->plan->n_candidates + 1, sizeof(*models));
    *n = 0;
    if (!models) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < r->plan->n_candidates; i++)
        count(find_model(models, n, r->plan->candidates[i].model), &r->of[i]);
    qsort(models, *n, sizeof(*models), compare);
    return models;
}
