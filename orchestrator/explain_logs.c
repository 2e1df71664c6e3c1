/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/explain_logs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/build.h"
#include "util/file.h"

/* Logs are bounded by those who write them. */
#define MAX_LOG ((size_t)64 << 20)

#define TITLE "== cell "

/* ---- texts ----------------------------------------------------------------------------------------------------------- */

/* The next line that begins a cell's section, at or after `text`. */
static const char *next_title(const char *text)
{
    for (const char *at = strstr(text, TITLE); at; at = strstr(at + 1, TITLE))
        if (at == text || at[-1] == '\n')
            return at;
    return NULL;
}

const char *explain_logs_section(const char *text, uint64_t number, size_t *size)
{
    char title[64];
    int n = snprintf(title, sizeof(title), TITLE "%llu:", (unsigned long long)number);
    for (const char *at = next_title(text); at; at = next_title(at + 1)) {
        const char *end = next_title(at + 1);
        if (strncmp(at, title, (size_t)n) != 0)
            continue;
        *size = end ? (size_t)(end - at) : strlen(at);
        return at;
    }
    return NULL;
}

/* What a terminal would obey is shown as '?'. */
static void make_printable(char *text)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if ((*c < 32 && *c != '\n' && *c != '\t') || *c == 127)
            *c = '?';
}

char *explain_logs_last(const char *text, size_t size, int lines)
{
    while (size > 0 && text[size - 1] == '\n')
        size--;
    size_t from = size;
    while (from > 0 && (text[from - 1] != '\n' || --lines > 0))
        from--;
    char *last = strndup(text + from, size - from);
    if (last)
        make_printable(last);
    return last;
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

static int add(struct explain_cell *c, const char *path, const char *text, size_t size, struct pkb_error *err)
{
    struct explain_log *more = realloc(c->logs, (c->n_logs + 1) * sizeof(*more));
    if (!more)
        return pkb_error_set(err, "out of memory");
    c->logs = more;
    struct explain_log *log = &more[c->n_logs++];
    *log = (struct explain_log){.path = strdup(path), .text = explain_logs_last(text, size, EXPLAIN_LOG_LINES)};
    return log->path && log->text ? 0 : pkb_error_set(err, "out of memory");
}

/* Adds the file RUN/relative (or its part about the cell) if it is there and says anything. */
static int add_file(const struct rundir *run, struct explain_cell *c, const char *relative, bool section, struct pkb_error *err)
{
    char *text = NULL, *path = pkb_format(err, relative[0] == '/' ? "%.0s%s" : "%s/%s", run->path, relative);
    size_t size = 0;
    int rc = path ? 0 : -1;
    if (rc == 0 && pkb_file_read(path, MAX_LOG, &text, &size, NULL) == 0) {
        const char *part = section ? explain_logs_section(text, c->number, &size) : text;
        if (part && size > 0)
            rc = add(c, relative, part, size, err);
    }
    free(text);
    free(path);
    return rc;
}

static int add_attempt_file(const struct rundir *run, struct explain_cell *c, int attempt, const char *name, bool section,
                            struct pkb_error *err)
{
    char relative[128];
    (void)snprintf(relative, sizeof(relative), "logs/shard-%06d.%03d/%s", c->shard->id, attempt, name);
    return add_file(run, c, relative, section, err);
}

static int add_ranks(const struct rundir *run, struct explain_cell *c, int attempt, const char *who, bool section,
                     struct pkb_error *err)
{
    char name[32];
    int rc = 0;
    for (int rank = 0; rank < c->setting->world && rc == 0; rank++) {
        (void)snprintf(name, sizeof(name), "%s-%03d.log", who, rank);
        rc = add_attempt_file(run, c, attempt, name, section, err);
    }
    return rc;
}

static int add_compiler(const struct rundir *run, struct explain_cell *c, struct pkb_error *err)
{
    char key[PKB_DIGEST_HEX];
    struct build_toolchain *t = build_toolchain_find(c->candidate->kind, NULL);
    char *path =
        t && build_key(t, c->candidate->digest, key, NULL) == 0 ? pkb_format(err, "%s/%s/log", run->build_cache, key) : NULL;
    int rc = path ? add_file(run, c, path, false, err) : 0;
    free(path);
    build_toolchain_destroy(t);
    return rc;
}

/* The number of the shard's latest attempt; 0: none. */
static int last_attempt(const struct rundir *run, const struct explain_cell *c)
{
    int attempt = 0;
    for (bool there = true; there; attempt += there) {
        char *path = pkb_format(NULL, "%s/logs/shard-%06d.%03d", run->path, c->shard->id, attempt + 1);
        there = path && pkb_file_exists(path);
        free(path);
    }
    return attempt;
}

/* Whoever started the cell tells more than its runner where there is no verdict. */
static int add_starters(const struct rundir *run, struct explain_cell *c, int attempt, struct pkb_error *err)
{
    if (add_attempt_file(run, c, attempt, "launch.log", false, err) < 0)
        return -1;
    return add_ranks(run, c, attempt, "agent", false, err);
}

int explain_logs_read(const struct rundir *run, struct explain_cell *c, struct pkb_error *err)
{
    const struct explain_record *verdict = explain_verdict(c);
    if (!c->shard)
        return 0;
    int attempt = verdict ? verdict->record.attempt : last_attempt(run, c);
    if (verdict && verdict->record.outcome == OUTCOME_COMPILE_ERROR)
        return add_compiler(run, c, err);
    int rc = attempt > 0 ? add_ranks(run, c, attempt, "runner", true, err) : 0;
    bool judged = verdict && outcome_is_final(verdict->record.outcome);
    if (rc == 0 && !judged && attempt > 0)
        rc = add_starters(run, c, attempt, err);
    return rc;
}
