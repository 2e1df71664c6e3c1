/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"

#define FORMAT 1

static const char *const kind_names[SLURM_JOBS_KINDS] = {
    [SLURM_JOBS_BUILD] = "build", [SLURM_JOBS_EVALUATE] = "evaluate", [SLURM_JOBS_MERGE] = "merge"};

const char *slurm_jobs_kind_name(enum slurm_jobs_kind kind)
{
    return kind_names[kind];
}

static int parse_kind(const char *name, enum slurm_jobs_kind *kind, struct pkb_error *err)
{
    for (int k = 0; k < SLURM_JOBS_KINDS; k++) {
        *kind = (enum slurm_jobs_kind)k;
        if (strcmp(kind_names[k], name) == 0)
            return 0;
    }
    return pkb_error_set(err, "there is no kind of job '%s'", name);
}

static json_t *list_of(const json_t *jobs)
{
    return json_object_get(jobs, "jobs");
}

json_t *slurm_jobs_read(const char *run, struct pkb_error *err)
{
    int64_t format;
    json_t *list, *jobs = NULL;
    char *path = pkb_format(err, "%s/jobs.json", run);
    if (!path)
        return NULL;
    if (!pkb_file_exists(path)) {
        free(path);
        jobs = json_pack("{s:i, s:[]}", "format", FORMAT, "jobs");
        if (!jobs)
            pkb_error_set(err, "out of memory");
        return jobs;
    }
    jobs = pkb_json_read(path, err);
    if (jobs &&
        (pkb_json_int(jobs, "format", FORMAT, FORMAT, &format, err) < 0 || pkb_json_array(jobs, "jobs", &list, err) < 0)) {
        pkb_error_prefix(err, "%s", path);
        json_decref(jobs);
        jobs = NULL;
    }
    free(path);
    return jobs;
}

int slurm_jobs_add(json_t *jobs, const char *run, const struct slurm_jobs_entry *e, const char *script, struct pkb_error *err)
{
    char now[32];
    pkb_utc_now(now, sizeof(now));
    json_t *entry = json_pack("{s:I, s:s, s:i, s:i, s:s, s:s, s:s}", "job", (json_int_t)e->job, "kind", kind_names[e->kind],
                              "world", e->world, "base", e->base, "array", e->array, "submitted", now, "script", script);
    if (!entry || json_array_append_new(list_of(jobs), entry) < 0)
        return pkb_error_set(err, "out of memory");
    char *path = pkb_format(err, "%s/jobs.json", run);
    int rc = path ? pkb_json_write(path, jobs, true, err) : -1;
    free(path);
    return rc;
}

size_t slurm_jobs_count(const json_t *jobs)
{
    return json_array_size(list_of(jobs));
}

int slurm_jobs_entry(const json_t *jobs, size_t i, struct slurm_jobs_entry *e, struct pkb_error *err)
{
    const json_t *v = json_array_get(list_of(jobs), i);
    const char *kind;
    int64_t job, world, base;
    *e = (struct slurm_jobs_entry){0};
    if (pkb_json_int(v, "job", 1, UINT32_MAX, &job, err) < 0 || pkb_json_string(v, "kind", &kind, err) < 0 ||
        pkb_json_int(v, "world", 0, 1 << 20, &world, err) < 0 || pkb_json_int(v, "base", 0, 1 << 30, &base, err) < 0 ||
        pkb_json_string(v, "array", &e->array, err) < 0 || pkb_json_string(v, "submitted", &e->submitted, err) < 0 ||
        parse_kind(kind, &e->kind, err) < 0)
        return pkb_error_prefix(err, "jobs.json: entry %zu", i);
    e->job = (uint32_t)job;
    e->world = (int)world;
    e->base = (int)base;
    return 0;
}
