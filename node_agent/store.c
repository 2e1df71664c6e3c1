/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/store.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build-id.h"
#include "config.h"
#include "results/record_files.h"
#include "runtime/dtype.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/tuning.h"

#define RETRY_SECONDS 30.0
#define FIRST_PAUSE_MS 50

/* ---- appending ------------------------------------------------------------------------------------------------------- */

static char *file_of(const struct agent *a, int attempt, struct pkb_error *err)
{
    char *name = record_file_name(a->options.shard, attempt, err);
    char *path = name ? pkb_format(err, "%s/records/%s", a->options.run, name) : NULL;
    free(name);
    return path;
}

int store_open(struct agent *a, struct pkb_error *err)
{
    char *path = file_of(a, a->options.attempt, err);
    if (!path)
        return agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    bool exists = pkb_file_exists(path);
    free(path);
    if (exists)
        return agent_end(a, AGENT_EXIT_FENCED, err, "attempt %d of shard %d has begun already: use a new attempt number",
                         a->options.attempt, a->options.shard);
    a->log = record_log_create(a->options.run, a->options.shard, a->options.attempt, err);
    return a->log ? 0 : agent_end(a, AGENT_EXIT_STORAGE, err, NULL);
}

static double retry_seconds(void)
{
    const char *text = getenv("PKB_RECORD_RETRY_SECONDS");
    char *end = NULL;
    double value = text ? strtod(text, &end) : -1;
    return text && end != text && *end == '\0' && value >= 0 ? value : RETRY_SECONDS;
}

/* Waits before the next try, awake for signals. */
static int pause_between(struct agent *a, int ms, struct pkb_error *err)
{
    struct pollfd p = {.fd = a->signal_fd, .events = POLLIN};
    return poll(&p, 1, ms) > 0 ? agent_signals(a, err) : 0;
}

static int append_patiently(struct agent *a, const json_t *value, struct pkb_error *err)
{
    struct pkb_error why;
    int64_t until = pkb_now_ns() + (int64_t)(retry_seconds() * 1e9);
    for (int ms = FIRST_PAUSE_MS; record_log_append(a->log, value, &why) < 0; ms *= 2) {
        if (pkb_now_ns() >= until)
            return agent_end(a, AGENT_EXIT_STORAGE, err, "a record cannot be written, its cell counts as not done: %s", why.text);
        (void)fprintf(stderr, "pkb-agent: %s; trying again\n", why.text);
        if (pause_between(a, ms, err) < 0)
            return -1;
    }
    return 0;
}

int store_append(struct agent *a, json_t *value, struct pkb_error *err)
{
    if (!value)
        return agent_end(a, AGENT_EXIT_FAILED, err, "a record cannot be encoded");
    int rc = append_patiently(a, value, err);
    json_decref(value);
    return rc;
}

/* Attempts are numbered one by one, so the next number tells: its folder of logs is there from its start on, its records later. */
int store_check_lease(struct agent *a, struct pkb_error *err)
{
    char *own = file_of(a, a->options.attempt, err), *next = file_of(a, a->options.attempt + 1, err);
    char *folder = pkb_format(err, "%s/logs/shard-%06d.%03d", a->options.run, a->options.shard, a->options.attempt + 1);
    int rc = own && next && folder ? 0 : agent_end(a, AGENT_EXIT_FAILED, err, NULL);
    if (rc == 0 && (pkb_file_exists(next) || pkb_file_exists(folder)))
        rc = agent_end(a, AGENT_EXIT_FENCED, err, "shard %d has a newer attempt (%s): this one stops", a->options.shard,
                       pkb_file_exists(next) ? next : folder);
    else if (rc == 0 && !pkb_file_exists(own))
        rc = agent_end(a, AGENT_EXIT_FENCED, err, "%s is gone: this attempt stops", own);
    free(own);
    free(next);
    free(folder);
    return rc;
}

/* ---- what is done ---------------------------------------------------------------------------------------------------- */

static int visit_line(void *arg, int64_t line, json_t *value, const char *reason)
{
    json_t *final = arg;
    struct record r;
    enum record_kind kind;
    (void)line;
    (void)reason;
    if (!value || record_kind_of(value, &kind, NULL) < 0 || kind != RECORD_CELL || record_decode(value, &r, NULL) < 0)
        return 0; /* merge reports what cannot be read; here it counts as not done */
    if (outcome_is_final(r.outcome))
        (void)json_object_set_new(final, r.cell, json_true());
    record_clear(&r);
    return 0;
}

static int read_file(struct agent *a, const struct record_file *file, json_t *final, struct pkb_error *err)
{
    if (file->attempt == 0 || file->shard != a->options.shard)
        return 0;
    char *path = pkb_format(err, "%s/records/%s", a->options.run, file->name);
    int rc = path ? record_file_read(path, visit_line, final, err) : -1;
    free(path);
    return rc;
}

static int mark(struct agent *a, const json_t *final, bool *done, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < a->plan->n_cells; i++) {
        rc = plan_cell_digest(a->plan, &a->plan->cells[i], d, hex, err);
        done[i] = rc == 0 && json_object_get(final, hex) != NULL;
    }
    pkb_digest_destroy(d);
    return rc;
}

int store_load_done(struct agent *a, bool *done, struct pkb_error *err)
{
    struct record_files list;
    json_t *final = json_object();
    if (!final)
        return agent_end(a, AGENT_EXIT_FAILED, err, "records: out of memory");
    int rc = record_files_list(a->options.run, &list, err);
    for (size_t i = 0; rc == 0 && i < list.n; i++)
        rc = read_file(a, &list.files[i], final, err);
    if (rc == 0)
        rc = mark(a, final, done, err);
    record_files_destroy(&list);
    json_decref(final);
    return rc < 0 ? agent_end(a, AGENT_EXIT_FAILED, err, NULL) : 0;
}

/* ---- what records share ---------------------------------------------------------------------------------------------- */

void store_add_world(const struct agent *a, json_t *more)
{
    json_t *hosts = json_array();
    for (int i = 0; i < a->world->world; i++)
        (void)json_array_append_new(hosts, json_string(a->world->hosts[i]));
    (void)json_object_set_new(more, "hosts", hosts);
    json_t *tuning = tuning_variables(); /* what runners get to see */
    if (json_object_size(tuning) > 0)
        (void)json_object_set(more, "environment", tuning);
    json_decref(tuning);
    (void)json_object_set_new(more, "versions", json_pack("{s:s, s:s}", "pkb", PACKAGE_VERSION, "build", PKB_BUILD_ID));
}

void store_describe_setting(const struct agent *a, const struct plan_setting *s, char problem[64], char family[32],
                            char dtype[16], char shape[64], char device[16])
{
    (void)snprintf(problem, 64, "%s", s->problem->name);
    (void)snprintf(family, 32, "%s", s->problem->family);
    (void)snprintf(dtype, 16, "%s", dtype_name(s->dtype));
    (void)snprintf(shape, 64, "%s", s->shape);
    (void)snprintf(device, 16, "%s", agent_device(a, s));
}
