/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/record_files.h"
#include "results/record_scan.h"
#include "util/file.h"

void progress_destroy(struct progress *p)
{
    if (!p)
        return;
    digest_index_destroy(p->index);
    free(p->outcome);
    free(p);
}

static int fill_index(struct progress *p, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (size_t i = 0; i < p->plan->n_cells && rc == 0; i++) {
        rc = plan_cell_digest(p->plan, &p->plan->cells[i], d, hex, err);
        if (rc == 0)
            rc = digest_index_add(p->index, hex, err);
    }
    pkb_digest_destroy(d);
    return rc;
}

struct progress *progress_create(const struct plan *plan, struct pkb_error *err)
{
    struct progress *p = calloc(1, sizeof(*p));
    size_t n = plan->n_cells;
    if (!p) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    p->plan = plan;
    p->counts[PROGRESS_NO_RECORD] = n;
    p->outcome = malloc(n ? n : 1);
    p->index = digest_index_create(n, err);
    if (!p->outcome)
        pkb_error_set(err, "out of memory");
    if (p->outcome && p->index && fill_index(p, err) == 0) {
        memset(p->outcome, PROGRESS_NO_RECORD, n);
        return p;
    }
    progress_destroy(p);
    return NULL;
}

static bool is_final(uint8_t outcome)
{
    return outcome < OUTCOME_COUNT && outcome_is_final((enum outcome)outcome);
}

/* True when the cell has become final by this. */
static bool note(struct progress *p, uint32_t cell, int outcome)
{
    uint8_t *now = &p->outcome[cell];
    if (is_final(*now))
        return false;
    p->counts[*now]--;
    *now = (uint8_t)outcome;
    p->counts[*now]++;
    p->final += is_final(*now);
    return is_final(*now);
}

void progress_note(struct progress *p, const char *cell, int outcome)
{
    uint32_t i = digest_index_find(p->index, cell);
    if (outcome < 0 || outcome >= OUTCOME_COUNT)
        return;
    for (; i != DIGEST_INDEX_NONE; i = digest_index_next(p->index, i))
        (void)note(p, i, outcome);
}

static int visit(void *arg, const struct record_scan *scan)
{
    struct progress *p = arg;
    p->lines++;
    if (scan->kind != LINE_CELL) {
        p->bad_lines += scan->kind == LINE_MALFORMED || scan->kind == LINE_SCHEMA;
        return 0;
    }
    const struct record *r = &scan->cell;
    uint32_t i = digest_index_find(p->index, r->cell);
    p->foreign += i == DIGEST_INDEX_NONE;
    if (strcmp(r->started, p->last_started) > 0)
        (void)snprintf(p->last_started, sizeof(p->last_started), "%s", r->started);
    if (!outcome_is_final(r->outcome))
        (void)snprintf(p->trouble, sizeof(p->trouble), "%s: %.480s", outcome_name(r->outcome), r->detail);
    for (; i != DIGEST_INDEX_NONE; i = digest_index_next(p->index, i))
        if (note(p, i, (int)r->outcome) && strcmp(r->started, p->since) >= 0)
            p->final_since++;
    return 0;
}

int progress_read(struct progress *p, const char *run, struct pkb_error *err)
{
    return record_files_scan(run, visit, p, err);
}

int progress_read_attempt(struct progress *p, const char *run, int shard, int attempt, struct pkb_error *err)
{
    char *name = record_file_name(shard, attempt, err);
    char *path = name ? pkb_format(err, "%s/records/%s", run, name) : NULL;
    int rc = path ? 0 : -1;
    if (rc == 0 && pkb_file_exists(path))
        rc = record_file_scan(path, visit, p, NULL, err);
    free(path);
    free(name);
    return rc;
}

uint64_t progress_missing(const struct progress *p, const struct plan_shard *shard)
{
    uint64_t n = 0;
    for (uint64_t i = shard->first; i < shard->first + shard->count; i++)
        n += !is_final(p->outcome[i]);
    return n;
}

json_t *progress_outcomes(const struct progress *p)
{
    json_t *v = json_object();
    for (int o = 0; v && o < OUTCOME_COUNT; o++) {
        if (p->counts[o] == 0)
            continue;
        if (json_object_set_new(v, outcome_name((enum outcome)o), json_integer((json_int_t)p->counts[o])) < 0) {
            json_decref(v);
            return NULL;
        }
    }
    return v;
}

void progress_describe(const struct progress *p, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int o = 0; o < OUTCOME_COUNT; o++) {
        if (p->counts[o] == 0 || used >= size)
            continue;
        int n = snprintf(text + used, size - used, "%s%s %llu", used ? ", " : "", outcome_name((enum outcome)o),
                         (unsigned long long)p->counts[o]);
        used += n > 0 ? (size_t)n : 0;
    }
}
