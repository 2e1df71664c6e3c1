/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/explain.h"

#include <stdlib.h>
#include <string.h>

#include "orchestrator/exit.h"
#include "orchestrator/explain_logs.h"
#include "orchestrator/explain_select.h"
#include "orchestrator/explain_tasks.h"
#include "results/record_files.h"
#include "results/record_scan.h"
#include "util/file.h"

static void clear_cell(struct explain_cell *c)
{
    for (size_t i = 0; i < c->n_records; i++) {
        record_clear(&c->records[i].record);
        free(c->records[i].file);
    }
    for (size_t i = 0; i < c->n_logs; i++) {
        free(c->logs[i].path);
        free(c->logs[i].text);
    }
    for (size_t i = 0; i < c->n_tasks; i++) {
        free(c->tasks[i].reason);
        free(c->tasks[i].nodes);
    }
    free(c->records);
    free(c->logs);
    free(c->tasks);
}

void explain_clear(struct explain *e)
{
    for (size_t i = 0; i < e->n; i++)
        clear_cell(&e->cells[i]);
    free(e->cells);
    plan_destroy(e->plan);
    rundir_destroy(e->run);
    *e = (struct explain){0};
}

/* ---- cells ----------------------------------------------------------------------------------------------------------- */

static const struct plan_shard *shard_of(const struct plan *p, uint64_t number)
{
    for (size_t i = 0; i < p->n_shards; i++)
        if (number >= p->shards[i].first && number - p->shards[i].first < p->shards[i].count)
            return &p->shards[i];
    return NULL;
}

static void keep(struct explain *e, uint64_t number, const char *digest)
{
    const struct plan_cell *cell = &e->plan->cells[number];
    struct explain_cell *c = &e->cells[e->n++];
    c->number = number;
    c->setting = &e->plan->settings[cell->setting];
    c->candidate = &e->plan->candidates[cell->candidate];
    c->shard = shard_of(e->plan, number);
    memcpy(c->digest, digest, sizeof(c->digest));
}

/* All cells that match are counted; the first `most` are kept. */
static int match(struct explain *e, const struct explain_selector *s, size_t most, size_t *found, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (uint64_t i = 0; i < e->plan->n_cells && rc == 0; i++) {
        rc = plan_cell_digest(e->plan, &e->plan->cells[i], d, hex, err);
        if (rc < 0 || !explain_select_matches(s, e->plan, i, hex))
            continue;
        (*found)++;
        if (e->n < most)
            keep(e, i, hex);
    }
    pkb_digest_destroy(d);
    return rc;
}

static int select_cells(struct explain *e, const char *pattern, size_t most, struct pkb_error *err)
{
    struct explain_selector s;
    size_t found = 0;
    if (explain_select_parse(&s, pattern, err) < 0)
        return PKB_EXIT_USAGE;
    e->cells = calloc(most + 1, sizeof(*e->cells));
    if (!e->cells)
        return pkb_error_set(err, "out of memory"), PKB_EXIT_SYSTEM;
    if (match(e, &s, most, &found, err) < 0)
        return PKB_EXIT_SYSTEM;
    if (found > 0 && found <= most)
        return PKB_EXIT_OK;
    if (found == 0)
        pkb_error_set(err, "no cell of the run is called '%s'; 'pkb report --csv=cells' lists them all", pattern);
    else
        pkb_error_set(err, "'%s' names %zu cells; name fewer (MODEL/PROBLEM/SAMPLE@RANKS), or say --all", pattern, found);
    return PKB_EXIT_USAGE;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

struct reading {
    struct explain *e;
    const struct record_file *file;
    struct pkb_error *err;
};

static bool is_of(const struct record *r, const struct explain_cell *c)
{
    return strcmp(r->cell, c->digest) == 0 && strcmp(r->model, c->candidate->model) == 0 && r->sample == c->candidate->sample;
}

static int add_record(struct explain_cell *c, const struct record_scan *scan, const struct record_file *file,
                      struct pkb_error *err)
{
    struct explain_record *more = realloc(c->records, (c->n_records + 1) * sizeof(*more));
    if (!more)
        return pkb_error_set(err, "out of memory");
    c->records = more;
    struct explain_record *r = &more[c->n_records];
    *r = (struct explain_record){
        .file = strdup(file->name), .line = scan->line->number, .shard = file->shard, .record = scan->cell};
    if (!r->file)
        return pkb_error_set(err, "out of memory");
    r->counts = outcome_is_final(r->record.outcome) && (c->n_records == 0 || !explain_verdict(c)->counts);
    c->n_records++;
    return 0;
}

static int visit(void *arg, const struct record_scan *scan)
{
    struct reading *r = arg;
    for (size_t i = 0; scan->kind == LINE_CELL && i < r->e->n; i++)
        if (is_of(&scan->cell, &r->e->cells[i]) && add_record(&r->e->cells[i], scan, r->file, r->err) < 0)
            return -1;
    return 0;
}

/* A record of a cell is in a file of the cell's shard. */
static bool has_wanted_shard(const struct explain *e, int shard)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->cells[i].shard && e->cells[i].shard->id == shard)
            return true;
    return false;
}

static int read_records(struct explain *e, struct pkb_error *err)
{
    struct record_files list = {0};
    int rc = record_files_list(e->run->path, &list, err);
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        struct reading r = {e, &list.files[i], err};
        if (r.file->attempt == 0 || !has_wanted_shard(e, r.file->shard))
            continue;
        char *path = pkb_format(err, "%s/records/%s", e->run->path, r.file->name);
        rc = path ? record_file_scan(path, visit, &r, NULL, err) : -1;
        free(path);
    }
    record_files_destroy(&list);
    return rc;
}

int explain_read(struct explain *e, const char *run, const char *pattern, size_t most, struct pkb_error *err)
{
    *e = (struct explain){0};
    e->run = rundir_open(run, err);
    e->plan = e->run ? plan_load(e->run->path, err) : NULL;
    if (!e->plan)
        return PKB_EXIT_USAGE;
    int code = select_cells(e, pattern, most ? most : e->plan->n_cells, err);
    if (code != PKB_EXIT_OK)
        return code;
    int rc = read_records(e, err);
    for (size_t i = 0; i < e->n && rc == 0; i++)
        rc = explain_logs_read(e->run, &e->cells[i], err);
    if (rc == 0)
        rc = explain_tasks_read(e, err);
    return rc < 0 ? PKB_EXIT_SYSTEM : PKB_EXIT_OK;
}

/* ---- meaning --------------------------------------------------------------------------------------------------------- */

const struct explain_record *explain_verdict(const struct explain_cell *c)
{
    for (size_t i = 0; i < c->n_records; i++)
        if (c->records[i].counts)
            return &c->records[i];
    return c->n_records ? &c->records[c->n_records - 1] : NULL;
}

struct meaning {
    const char *fault, *meaning, *next;
};

#define CANDIDATE "the candidate's"
#define SEE_LOG "the log below says where; 'pkb eval' repeats it"

static const struct meaning meanings[OUTCOME_COUNT] = {
    [OUTCOME_CORRECT] = {"nobody's", "Every output of every trial agrees with the reference's.", "nothing to do"},
    [OUTCOME_COMPILE_ERROR] = {CANDIDATE, "The compiler refused the source.", "the compiler's log below says why"},
    [OUTCOME_LOAD_ERROR] = {CANDIDATE, "The shared object could not be loaded, or lacks pkb_solution.",
                            "export what <pkb/candidate.h> asks for"},
    [OUTCOME_RUNTIME_ERROR] = {CANDIDATE, "A function of the candidate returned an error, or the device reported one.", SEE_LOG},
    [OUTCOME_CRASH] = {CANDIDATE, "The candidate's process was ended by a signal.", SEE_LOG},
    [OUTCOME_OUT_OF_MEMORY] = {CANDIDATE, "An allocation was refused.",
                               "use less memory, or raise limits.memory_mb of the sweep"},
    [OUTCOME_DEADLOCK] = {CANDIDATE, "Some rank did not come back in time.",
                          "the detail says what each rank was waiting for; limits.seconds of the sweep is the time"},
    [OUTCOME_SHAPE_MISMATCH] = {CANDIDATE, "An output was given another shape.", "write into the outputs as they are"},
    [OUTCOME_VALUE_MISMATCH] = {CANDIDATE, "An output differs from the reference's by more than rounding explains.",
                                "'pkb problems show' has the mathematics; 'pkb eval' repeats it"},
    [OUTCOME_TAMPERING] = {CANDIDATE, "The candidate touched what is not its own.", "the detail says what"},
    [OUTCOME_INFRA_ERROR] = {"the machine's, Slurm's or pkb's; the candidate is not judged by it",
                             "The node, the driver, the launcher or pkb failed.", "'pkb resume' evaluates the cell again"},
    [OUTCOME_NOT_RUN] = {"nobody's", "The cell was given up before it was judged.", "'pkb resume' evaluates the cell"},
};

static const struct meaning unknown = {"nobody's", "There is no record of it: it has not been evaluated yet.",
                                       "'pkb status' says whether it waits; 'pkb resume' evaluates what nobody works on"};

static const struct meaning *meaning_of(const struct explain_record *r)
{
    return r ? &meanings[r->record.outcome] : &unknown;
}

const char *explain_fault(const struct explain_record *r)
{
    return meaning_of(r)->fault;
}

const char *explain_meaning(const struct explain_record *r)
{
    return meaning_of(r)->meaning;
}

const char *explain_next(const struct explain_record *r)
{
    return meaning_of(r)->next;
}
