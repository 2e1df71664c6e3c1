/* SPDX-License-Identifier: Apache-2.0 */
#include "results/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/merge_state.h"
#include "util/file.h"

static int prepare(struct merge *m, struct pkb_error *err)
{
    if (merge_tables_create(&m->db, err) < 0)
        return -1;
    for (int t = 0; t < TABLE_COUNT; t++) {
        m->insert[t] = merge_tables_insert(&m->db, (enum merge_table)t, err);
        if (!m->insert[t])
            return -1;
    }
    return 0;
}

/* tables -> plan -> records -> cells -> summary -> views, in one transaction */
static int fill(struct merge *m, const struct record_files *files, struct pkb_error *err)
{
    if (database_exec(&m->db, "BEGIN", err) < 0 || prepare(m, err) < 0 || merge_plan_load(m, err) < 0)
        return -1;
    if (merge_lines_load(m, files, err) < 0 || merge_cells_write(m, err) < 0 || merge_summary_write(m, err) < 0)
        return -1;
    return merge_tables_finish(&m->db, err) < 0 ? -1 : database_exec(&m->db, "COMMIT", err);
}

static void clean_up(struct merge *m)
{
    for (int t = 0; t < TABLE_COUNT; t++)
        (void)sqlite3_finalize(m->insert[t]);
    database_close(&m->db);
    digest_index_destroy(m->cells);
    digest_index_destroy(m->settings);
    free(m->states);
}

static int build(struct merge *m, const char *path, const struct record_files *files, struct pkb_error *err)
{
    int rc = database_create(&m->db, path, err);
    if (rc == 0)
        rc = fill(m, files, err);
    clean_up(m);
    return rc;
}

/* The new database in the place of the old one, durably. */
static int put_in_place(const char *temp, const char *path, struct pkb_error *err)
{
    int fd = open(temp, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return pkb_error_errno(err, "%s", temp);
    int rc = fsync(fd) < 0 ? pkb_error_errno(err, "%s", temp) : 0;
    (void)close(fd);
    if (rc == 0 && rename(temp, path) < 0)
        rc = pkb_error_errno(err, "%s", path);
    return rc;
}

static int build_and_replace(struct merge *m, const struct record_files *files, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/results.db", m->run);
    char *temp = pkb_format(err, "%s/results.db.tmp.%d", m->run, (int)getpid());
    int rc = path && temp ? 0 : -1;
    if (rc == 0 && unlink(temp) < 0 && errno != ENOENT)
        rc = pkb_error_errno(err, "%s", temp);
    if (rc == 0)
        rc = build(m, temp, files, err);
    if (rc == 0)
        rc = put_in_place(temp, path, err);
    if (rc < 0 && temp)
        (void)unlink(temp);
    free(path);
    free(temp);
    return rc;
}

int merge_run_plan(const char *run, const struct plan *plan, struct merge_summary *s, struct pkb_error *err)
{
    struct merge m = {.run = run, .plan = plan};
    struct record_files files;
    int rc = record_files_list(run, &files, err);
    if (rc == 0) {
        rc = build_and_replace(&m, &files, err);
        record_files_destroy(&files);
    }
    if (rc == 0 && s)
        *s = m.summary;
    return rc < 0 ? pkb_error_prefix(err, "merge") : 0;
}

int merge_run(const char *run, struct merge_summary *s, struct pkb_error *err)
{
    struct plan *plan = plan_load(run, err);
    if (!plan)
        return pkb_error_prefix(err, "merge");
    int rc = merge_run_plan(run, plan, s, err);
    plan_destroy(plan);
    return rc;
}
