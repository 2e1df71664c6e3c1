/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/merge_state.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/tuning.h"

#define COUNT(member)                                                                                                            \
    {                                                                                                                            \
#member, offsetof(struct merge_summary, member)                                                                          \
    }

/* Rows of the table `run`. */
static const struct {
    const char *name;
    size_t offset;
} counts[] = {
    COUNT(cells), COUNT(done),      COUNT(infra_error),  COUNT(not_run),          COUNT(missing),    COUNT(shared),
    COUNT(files), COUNT(lines),     COUNT(cell_records), COUNT(baseline_records), COUNT(duplicates), COUNT(disagreeing),
    COUNT(torn),  COUNT(malformed), COUNT(schema),       COUNT(foreign),          COUNT(unreadable),
};

#define N_COUNTS (sizeof(counts) / sizeof(counts[0]))

static int64_t *count_of(struct merge_summary *s, size_t i)
{
    return (int64_t *)(void *)((char *)s + counts[i].offset);
}

static int add_row(struct merge *m, const char *key, const char *value, struct pkb_error *err)
{
    return database_insert(&m->db, m->insert[TABLE_RUN], err, "tt", key, value);
}

static int add_environment(struct merge *m, const json_t *variables, struct pkb_error *err)
{
    char *text = tuning_text(variables);
    int rc = text ? add_row(m, "environment", text, err) : pkb_error_set(err, "out of memory");
    free(text);
    return rc;
}

/* What run.json says about itself; a folder without one (a test's, a copied one) can be merged all the same. */
static int add_run(struct merge *m, struct pkb_error *err)
{
    static const char *const keys[] = {"name", "created", "host", "user", "version", "build", "launcher"};
    char *path = pkb_format(err, "%s/run.json", m->run);
    if (!path)
        return -1;
    json_t *run = pkb_file_exists(path) ? pkb_json_read(path, NULL) : NULL;
    int rc = 0;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && rc == 0; i++) {
        const char *value = json_string_value(json_object_get(run, keys[i]));
        if (value)
            rc = add_row(m, keys[i], value, err);
    }
    if (rc == 0)
        rc = add_environment(m, json_object_get(run, "environment"), err);
    json_decref(run);
    free(path);
    return rc;
}

int merge_summary_write(struct merge *m, struct pkb_error *err)
{
    char text[32], word[PKB_DIGEST_HEX];
    pkb_utc_now(text, sizeof(text));
    if (merge_plan_word(m->run, word, err) < 0 || add_row(m, "plan", word, err) < 0)
        return -1;
    if (add_row(m, "merged", text, err) < 0 || add_run(m, err) < 0)
        return -1;
    for (size_t i = 0; i < N_COUNTS; i++) {
        (void)snprintf(text, sizeof(text), "%lld", (long long)*count_of(&m->summary, i));
        if (add_row(m, counts[i].name, text, err) < 0)
            return -1;
    }
    return 0;
}

static int read_counts(struct database *db, struct merge_summary *s, struct pkb_error *err)
{
    sqlite3_stmt *query = database_prepare(db, "SELECT key, value FROM run", err);
    int rc = query ? 1 : -1;
    memset(s, 0, sizeof(*s));
    while (rc == 1) {
        rc = database_step(db, query, err);
        for (size_t i = 0; rc == 1 && i < N_COUNTS; i++)
            if (strcmp(database_text(query, 0), counts[i].name) == 0)
                *count_of(s, i) = strtoll(database_text(query, 1), NULL, 10);
    }
    (void)sqlite3_finalize(query);
    return rc;
}

int merge_summary_read(const char *run, struct merge_summary *s, struct pkb_error *err)
{
    struct database db;
    char *path = pkb_format(err, "%s/results.db", run);
    if (!path)
        return -1;
    int rc = database_open(&db, path, err);
    free(path);
    if (rc < 0)
        return -1;
    rc = read_counts(&db, s, err);
    database_close(&db);
    return rc;
}

json_t *merge_summary_json(const struct merge_summary *s)
{
    struct merge_summary copy = *s;
    json_t *value = json_object();
    for (size_t i = 0; i < N_COUNTS && value; i++) {
        if (json_object_set_new(value, counts[i].name, json_integer(*count_of(&copy, i))) == 0)
            continue;
        json_decref(value);
        value = NULL;
    }
    return value;
}
