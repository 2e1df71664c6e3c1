/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/status.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "orchestrator/command.h"
#include "orchestrator/display.h"
#include "orchestrator/slurm/launch.h"
#include "orchestrator/status_shards.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"

void status_clear(struct status *s)
{
    slurm_queue_clear(&s->queue);
    json_decref(s->jobs);
    progress_destroy(s->progress);
    plan_destroy(s->plan);
    rundir_destroy(s->run);
    *s = (struct status){0};
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

/* The latest change of a folder or anything directly in it; `last` if that is later. */
static time_t latest_in(const char *folder, time_t last)
{
    struct stat st;
    DIR *d = opendir(folder);
    if (!d)
        return last;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        if (strcmp(e->d_name, "..") != 0 && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_mtime > last)
            last = st.st_mtime;
    (void)closedir(d);
    return last;
}

static double idle_seconds(const char *run)
{
    static const char *const parts[] = {"records", "logs", "builds"};
    time_t last = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        char *path = pkb_format(NULL, "%s/%s", run, parts[i]);
        last = path ? latest_in(path, last) : last;
        free(path);
    }
    double idle = difftime(time(NULL), last);
    return last == 0 ? -1 : idle < 0 ? 0 : idle;
}

/* Seconds since a "2026-01-31T23:59:59Z"; 0 when it is none. */
static double seconds_since(const char *utc)
{
    int64_t at = pkb_utc_seconds(utc);
    return at < 0 ? 0 : difftime(time(NULL), (time_t)at);
}

static void estimate(struct status *s)
{
    const char *since = strrchr(s->driver, ' ');
    s->eta_seconds = s->progress->final == s->plan->n_cells ? 0 : -1;
    double spent = since ? seconds_since(since + 1) : 0;
    if (!s->driven || spent <= 0 || s->progress->final_since == 0)
        return;
    s->rate = (double)s->progress->final_since / spent;
    s->eta_seconds = (double)(s->plan->n_cells - s->progress->final) / s->rate;
}

/* What cannot be asked is told, and is no failure: the records say how far the run is. */
static void read_jobs(struct status *s)
{
    struct pkb_error err = {""};
    if (!slurm_launch_is_run(s->run->path))
        return;
    s->jobs = slurm_jobs_read(s->run->path, &err);
    const struct slurm_api *api = s->jobs && slurm_jobs_count(s->jobs) > 0 ? slurm_api_load(&err) : NULL;
    if (api && slurm_queue_read(api, s->jobs, &s->queue, SLURM_QUEUE_PAST, &err) == 0)
        s->driven = s->driven || s->queue.active > 0;
    else
        (void)snprintf(s->slurm_trouble, sizeof(s->slurm_trouble), "%.250s", err.text);
}

int status_read(struct status *s, const char *run, struct pkb_error *err)
{
    *s = (struct status){.eta_seconds = -1};
    s->run = rundir_open(run, err);
    s->plan = s->run ? plan_load(s->run->path, err) : NULL;
    if (!s->plan)
        return PKB_EXIT_USAGE;
    s->progress = progress_create(s->plan, err);
    if (!s->progress || rundir_driver(s->run, &s->driven, s->driver, sizeof(s->driver), err) < 0)
        return PKB_EXIT_SYSTEM;
    const char *since = strrchr(s->driver, ' ');
    if (since)
        (void)snprintf(s->progress->since, sizeof(s->progress->since), "%.23s", since + 1);
    if (progress_read(s->progress, s->run->path, err) < 0)
        return PKB_EXIT_SYSTEM;
    if (s->progress->counts[OUTCOME_INFRA_ERROR] > 0 && nodes_read(&s->nodes, s->run->path, err) < 0)
        return PKB_EXIT_SYSTEM;
    read_jobs(s);
    s->idle_seconds = idle_seconds(s->run->path);
    estimate(s);
    return PKB_EXIT_OK;
}

/* ---- printing -------------------------------------------------------------------------------------------------------- */

/* Whether a cell has been tried, without a result that counts. */
static bool was_tried(const struct status *s, const struct plan_shard *shard)
{
    for (uint64_t i = shard->first; i < shard->first + shard->count; i++)
        if (s->progress->outcome[i] < OUTCOME_COUNT)
            return true;
    return false;
}

static const char *shard_state(const struct status *s, const struct plan_shard *shard, uint64_t missing)
{
    if (missing == 0)
        return "done";
    if (missing < shard->count)
        return "partly done";
    if (was_tried(s, shard))
        return "tried in vain";
    return s->driven ? "waiting" : "not begun";
}

static void print_shards(const struct status *s)
{
    struct status_shards open = {.n = 0};
    size_t done = 0;
    char line[256];
    for (size_t i = 0; i < s->plan->n_shards; i++) {
        const struct plan_shard *shard = &s->plan->shards[i];
        uint64_t missing = progress_missing(s->progress, shard);
        done += missing == 0;
        if (missing > 0)
            status_shards_add(&open, shard->id, shard->world, shard_state(s, shard, missing), shard->count,
                              shard->count - missing);
    }
    printf("shards     %zu of %zu done\n", done, s->plan->n_shards);
    for (size_t i = 0; i < open.n; i++) {
        status_shards_describe(&open.list[i], line, sizeof(line));
        printf("           %s\n", line);
    }
}

static void print_jobs(const struct status *s)
{
    char line[512];
    size_t over = 0;
    for (size_t i = 0; i < s->queue.n; i++) {
        const struct slurm_queue_job *j = &s->queue.list[i];
        bool is_over = j->pending + j->running == 0;
        over += is_over;
        if (is_over && slurm_queue_failures(j) == 0)
            continue;
        slurm_queue_describe(j, line, sizeof(line));
        printf("slurm      %s\n", line);
    }
    if (s->queue.rank_seconds > 0)
        printf("allocated  %.2f rank-hours (GPU-hours where each rank has a GPU)%s\n", s->queue.rank_seconds / 3600,
               s->queue.past.known ? "" : ", as far as slurmctld remembers");
    if (s->queue.past.trouble[0])
        printf("slurm      the accounting database does not say what is past: %s\n", s->queue.past.trouble);
    if (over > 0)
        printf("slurm      %zu job%s over\n", over, over == 1 ? " is" : "s are");
    if (s->slurm_trouble[0])
        printf("slurm      the state of the jobs is not known: %s\n", s->slurm_trouble);
}

static void print_nodes(const struct status *s)
{
    for (size_t i = 0; i < s->nodes.n; i++) {
        const struct node *node = &s->nodes.list[i];
        if (node->errors > 0)
            printf("node       %s: %llu infra error%s, the latest: %.100s\n", node->host, (unsigned long long)node->errors,
                   node->errors == 1 ? "" : "s", node->last);
    }
}

static void print_driver(const struct status *s)
{
    char host[100] = "?", since[32] = "?", idle[32], eta[32];
    long pid = 0;
    int n = sscanf(s->driver, "%99s %ld %31s", host, &pid, since);
    if (s->queue.active > 0)
        printf("running    yes, by jobs\n");
    else if (s->driven && n == 3)
        printf("running    process %ld on %s, since %s\n", pid, host, since);
    else
        printf("running    %s\n", s->driven ? "yes" : "no");
    print_jobs(s);
    if (s->idle_seconds >= 0) {
        display_duration(s->idle_seconds, idle, sizeof(idle));
        printf("activity   %s ago\n", idle);
    }
    if (s->rate > 0) {
        display_duration(s->eta_seconds, eta, sizeof(eta));
        printf("rate       %.3g cells/s, ETA %s\n", s->rate, eta);
    }
}

void status_print(const struct status *s)
{
    unsigned long long n = s->plan->n_cells, done = s->progress->final;
    char outcomes[512];
    progress_describe(s->progress, outcomes, sizeof(outcomes));
    printf("run        %s (%s, created %s)\n", s->run->path, s->run->name, s->run->created);
    printf("cells      %llu of %llu done (%.0f %%)\n", done, n, n ? 100.0 * (double)done / (double)n : 100.0);
    if (outcomes[0])
        printf("outcomes   %s\n", outcomes);
    print_shards(s);
    print_nodes(s);
    print_driver(s);
    if (s->progress->bad_lines || s->progress->foreign)
        printf("records    %llu lines that are not records, %llu of cells that are not in the plan\n",
               (unsigned long long)s->progress->bad_lines, (unsigned long long)s->progress->foreign);
    if (done < n && !s->driven)
        printf("\n'pkb resume %s' does the rest.\n", s->run->path);
}

static json_t *encode_shards(const struct status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < s->plan->n_shards; i++) {
        const struct plan_shard *shard = &s->plan->shards[i];
        uint64_t missing = progress_missing(s->progress, shard);
        (void)json_array_append_new(list,
                                    json_pack("{s:i, s:i, s:I, s:I, s:s}", "shard", shard->id, "world", shard->world, "cells",
                                              (json_int_t)shard->count, "done", (json_int_t)(shard->count - missing), "state",
                                              shard_state(s, shard, missing)));
    }
    return list;
}

static json_t *encode_nodes(const struct status *s)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < s->nodes.n; i++) {
        const struct node *node = &s->nodes.list[i];
        json_t *last = json_string(node->last);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:I, s:I, s:o}", "host", node->host, "records", (json_int_t)node->records,
                                              "infra_errors", (json_int_t)node->errors, "latest", last ? last : json_null()));
    }
    return list;
}

static json_t *known(double value, bool is_known)
{
    return is_known ? pkb_json_number(value) : json_null();
}

int status_print_json(const struct status *s, struct pkb_error *err)
{
    json_t *v =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:f, s:b, s:s}", "run",
                  s->run->path, "name", s->run->name, "created", s->run->created, "cells", (json_int_t)s->plan->n_cells, "done",
                  (json_int_t)s->progress->final, "outcomes", progress_outcomes(s->progress), "shards", encode_shards(s),
                  "running", s->driven, "driver", s->driver, "idle_seconds", known(s->idle_seconds, s->idle_seconds >= 0), "rate",
                  known(s->rate, s->rate > 0), "eta_seconds", known(s->eta_seconds, s->eta_seconds >= 0), "bad_lines",
                  (json_int_t)s->progress->bad_lines, "foreign", (json_int_t)s->progress->foreign, "jobs",
                  slurm_queue_json(&s->queue), "nodes", encode_nodes(s), "rank_hours", s->queue.rank_seconds / 3600, "accounting",
                  s->queue.past.known, "slurm_trouble", s->slurm_trouble);
    if (!v)
        return pkb_error_set(err, "out of memory");
    int rc = command_print_json(v, 1, err);
    json_decref(v);
    return rc;
}
