/* SPDX-License-Identifier: Apache-2.0 */
#include "results/merge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "results/merge_state.h"
#include "util/file.h"

/* Younger ones may belong to a merge on another host, where the process number means another process. */
#define LEFT_BEHIND_SECONDS 600

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

/* Names of databases that a killed merge left behind: "results.db.tmp.PID" of a process that is gone, or an old one of another host. */
static bool is_left_behind(DIR *dir, const char *name)
{
    static const char prefix[] = "results.db.tmp.";
    struct stat st;
    char *end;
    if (strncmp(name, prefix, strlen(prefix)) != 0 || fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    long pid = strtol(name + strlen(prefix), &end, 10);
    if (*end == '-') /* -journal, -wal */
        end = "";
    bool gone = pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
    return *end == '\0' && (gone || pid == getpid()) && time(NULL) - st.st_mtime > LEFT_BEHIND_SECONDS;
}

static void remove_left_behind(const char *run)
{
    DIR *dir = opendir(run);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        if (is_left_behind(dir, e->d_name))
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

static int run_whole(const char *run, const struct plan *plan, const struct record_files *files, struct merge_summary *s,
                     struct pkb_error *err)
{
    struct merge m = {.run = run, .plan = plan};
    remove_left_behind(run);
    if (build_and_replace(&m, files, err) < 0)
        return -1;
    if (s)
        *s = m.summary;
    return 0;
}

/* 1: what is new in the files was enough. */
static int run_update(const char *run, const struct record_files *files, struct merge_summary *s)
{
    struct merge m = {.run = run};
    if (merge_update(&m, files) != 1)
        return 0;
    if (s)
        *s = m.summary;
    return 1;
}

/* `plan` may be NULL: then it is loaded where it is needed. */
static int run_any(const char *run, const struct plan *plan, bool whole, struct merge_summary *s, struct pkb_error *err)
{
    struct record_files files;
    if (record_files_list(run, &files, err) < 0)
        return pkb_error_prefix(err, "merge");
    int rc = whole ? 0 : run_update(run, &files, s);
    if (rc == 0) {
        struct plan *loaded = plan ? NULL : plan_load(run, err);
        rc = plan || loaded ? run_whole(run, plan ? plan : loaded, &files, s, err) : -1;
        plan_destroy(loaded);
    }
    record_files_destroy(&files);
    return rc < 0 ? pkb_error_prefix(err, "merge") : 0;
}

int merge_run_plan(const char *run, const struct plan *plan, struct merge_summary *s, struct pkb_error *err)
{
    return run_any(run, plan, false, s, err);
}

int merge_run(const char *run, struct merge_summary *s, struct pkb_error *err)
{
    return run_any(run, NULL, false, s, err);
}

int merge_run_whole(const char *run, struct merge_summary *s, struct pkb_error *err)
{
    return run_any(run, NULL, true, s, err);
}
