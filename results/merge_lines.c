/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/merge_state.h"
#include "results/record_pipe.h"
#include "runtime/dtype.h"

int merge_add_problem(struct merge *m, int64_t line, const char *kind, const char *reason)
{
    return database_insert(&m->db, m->insert[TABLE_PROBLEMS_FOUND], m->err, "ititt", record_line_key(m->file, line),
                           m->file->name, line, kind, reason);
}

static int found_foreign(struct merge *m, int64_t line, const char *reason)
{
    m->summary.foreign++;
    return merge_add_problem(m, line, "foreign", reason);
}

/* ---- results of cells ------------------------------------------------------------------------------------------------ */

static const struct plan_setting *setting_of(const struct merge *m, uint32_t cell)
{
    return &m->plan->settings[m->plan->cells[cell].setting];
}

static const struct plan_candidate *candidate_of(const struct merge *m, uint32_t cell)
{
    return &m->plan->candidates[m->plan->cells[cell].candidate];
}

/* The planned cell of a record: same digest, model and sample. */
static uint32_t find_cell(const struct merge *m, const struct record *r)
{
    uint32_t cell = digest_index_find(m->cells, r->cell);
    for (; cell != DIGEST_INDEX_NONE; cell = digest_index_next(m->cells, cell)) {
        const struct plan_candidate *c = candidate_of(m, cell);
        if (c->sample == r->sample && strcmp(c->model, r->model) == 0)
            break;
    }
    return cell;
}

/* The name of a member that does not say what the plan says about the cell, or NULL. */
static const char *disagreement(const struct merge *m, uint32_t cell, const struct record *r)
{
    const struct plan_setting *s = setting_of(m, cell);
    if (strcmp(r->setting, s->digest) != 0)
        return "setting";
    if (strcmp(r->candidate, candidate_of(m, cell)->digest) != 0)
        return "candidate";
    if (strcmp(r->problem, s->problem->name) != 0)
        return "problem";
    if (strcmp(r->family, s->problem->family) != 0)
        return "family";
    if (r->world != s->world)
        return "world";
    if (strcmp(r->dtype, dtype_name(s->dtype)) != 0)
        return "dtype";
    if (strcmp(r->shape, s->shape) != 0)
        return "shape";
    if (strcmp(r->device, s->device) != 0)
        return "device";
    return r->attempt != m->file->attempt ? "attempt (the file's name says another)" : NULL;
}

int merge_add_attempt(struct merge *m, int64_t cell, const struct record_line *line, const struct record *r, bool duplicate)
{
    const struct record_times *b = &r->baseline, *t = &r->time;
    return database_insert(&m->db, m->insert[TABLE_ATTEMPTS], m->err, "iiiiiitiiittrirrrrrirrrrr",
                           record_line_key(m->file, line->number), cell, m->file->key, line->number, line->offset,
                           (int64_t)line->size, outcome_name(r->outcome), (int64_t)duplicate, (int64_t)r->rank, (int64_t)r->nodes,
                           r->detail, r->started, r->speedup, (int64_t)b->iterations, b->mean, b->median, b->min, b->max, b->std,
                           (int64_t)t->iterations, t->mean, t->median, t->min, t->max, t->std);
}

static int add_record(struct merge *m, uint32_t cell, const struct record_line *line, const struct record *r)
{
    struct merge_cell *state = &m->states[cell];
    bool final = outcome_is_final(r->outcome);
    bool duplicate = final && state->result != 0;
    if (merge_add_attempt(m, cell, line, r, duplicate) < 0)
        return -1;
    m->summary.cell_records++;
    state->records++;
    state->infra_errors += r->outcome == OUTCOME_INFRA_ERROR;
    if (duplicate) {
        m->summary.duplicates++;
        m->summary.disagreeing += state->outcome != r->outcome;
    } else if (state->result == 0) {
        state->outcome = (uint8_t)r->outcome;
        state->result = final ? record_line_key(m->file, line->number) : 0;
    }
    return 0;
}

static int add_cell_line(struct merge *m, const struct record_line *line, const struct record *r)
{
    uint32_t cell = find_cell(m, r);
    char reason[512];
    if (cell == DIGEST_INDEX_NONE) {
        (void)snprintf(reason, sizeof(reason), "cell %.12s (%s, %s, sample %d, %d ranks) is not in the plan", r->cell, r->model,
                       r->problem, r->sample, r->world);
        return found_foreign(m, line->number, reason);
    }
    const char *member = disagreement(m, cell, r);
    if (!member)
        return add_record(m, cell, line, r);
    (void)snprintf(reason, sizeof(reason), "cell %.12s: the plan disagrees about its %s", r->cell, member);
    return found_foreign(m, line->number, reason);
}

/* ---- baselines ------------------------------------------------------------------------------------------------------- */

int merge_add_baseline(struct merge *m, int64_t setting, const struct record_line *line, const struct record_baseline *b)
{
    const struct record_times *x = &b->before, *y = &b->after;
    m->summary.baseline_records++;
    return database_insert(&m->db, m->insert[TABLE_BASELINES], m->err, "iiiiitdirrrrrirrrrr",
                           record_line_key(m->file, line->number), setting, m->file->key, line->number, (int64_t)b->nodes,
                           b->started, b->drift, (int64_t)x->iterations, x->mean, x->median, x->min, x->max, x->std,
                           (int64_t)y->iterations, y->mean, y->median, y->min, y->max, y->std);
}

static int add_baseline_line(struct merge *m, const struct record_line *line, const struct record_baseline *b)
{
    uint32_t setting = digest_index_find(m->settings, b->setting);
    char reason[512];
    if (setting != DIGEST_INDEX_NONE && b->attempt == m->file->attempt)
        return merge_add_baseline(m, (int64_t)setting, line, b);
    (void)snprintf(reason, sizeof(reason), "baseline of %s, %d ranks: %s", b->problem, b->world,
                   setting == DIGEST_INDEX_NONE ? "the setting is not in the plan" : "the file's name says another attempt");
    return found_foreign(m, line->number, reason);
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

void merge_count_line(struct merge *m, const struct record_scan *scan)
{
    struct merge_summary *s = &m->summary;
    s->lines++;
    s->torn += scan->kind == LINE_TORN;
    s->malformed += scan->kind == LINE_MALFORMED;
    s->schema += scan->kind == LINE_SCHEMA;
    if (scan->kind != LINE_TORN)
        m->done = (struct record_start){scan->line->offset + (int64_t)scan->line->size + 1, scan->line->number};
}

static int add_line(void *arg, const struct record_scan *scan)
{
    struct merge *m = arg;
    if (scan->line->number > RECORD_MAX_LINES)
        return pkb_error_set(m->err, "%s has more than %lld lines", m->file->name, (long long)RECORD_MAX_LINES);
    merge_count_line(m, scan);
    if (scan->kind == LINE_CELL)
        return add_cell_line(m, scan->line, &scan->cell);
    if (scan->kind == LINE_BASELINE)
        return add_baseline_line(m, scan->line, &scan->baseline);
    return merge_add_problem(m, scan->line->number, record_line_kind_name(scan->kind), scan->reason.text);
}

/* Visitors set m->err and return -1 when the database fails; a file that cannot be read is only a problem found. */
static int read_file(struct merge *m, struct record_pipe *pipe, int64_t *bytes)
{
    struct pkb_error reason, *err = m->err;
    struct pkb_error inner = {{0}};
    m->err = &inner;
    int rc = record_pipe_scan(pipe, add_line, m, bytes, &reason);
    m->err = err;
    if (rc == 0)
        return 0;
    if (inner.text[0])
        return pkb_error_set(err, "%s", inner.text);
    m->summary.unreadable++;
    *bytes = -1;
    return merge_add_problem(m, 0, "unreadable", reason.text);
}

int merge_add_file(struct merge *m, int64_t bytes)
{
    char tail[PKB_DIGEST_HEX] = "";
    if (m->file->attempt > 0 && bytes >= 0 && merge_file_tail(m->run, m->file->name, m->done.offset, tail, m->err) < 0)
        return -1;
    return database_insert(&m->db, m->insert[TABLE_FILES], m->err, "itiiiiit", m->file->key, m->file->name,
                           (int64_t)m->file->shard, (int64_t)m->file->attempt, bytes, m->done.lines, m->done.offset, tail);
}

static int add_file(struct merge *m, struct record_pipe *pipe)
{
    int64_t bytes = m->file->bytes;
    m->done = (struct record_start){0, 0};
    if (m->file->attempt == 0) {
        if (found_foreign(m, 0, "not a file of records: its name is not shard-SSSSSS.AAA.jsonl") < 0)
            return -1;
    } else {
        m->summary.files++;
        if (read_file(m, pipe, &bytes) < 0)
            return -1;
    }
    return merge_add_file(m, bytes);
}

int merge_lines_load(struct merge *m, const struct record_files *files, struct pkb_error *err)
{
    struct record_pipe *pipe = record_pipe_create(m->run, files, err);
    int rc = pipe ? 0 : -1;
    m->err = err;
    for (size_t i = 0; i < files->n && rc == 0; i++) {
        m->file = &files->files[i];
        rc = add_file(m, pipe);
    }
    record_pipe_destroy(pipe);
    return rc;
}
