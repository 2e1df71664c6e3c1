/* SPDX-License-Identifier: Apache-2.0 */
/* What no figure counts: every row of the table below that finds something becomes a note. */
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"
#include "util/file.h"

/* RUN in an advice stands for the run directory. */
#define RESUME "pkb resume RUN runs them"
#define CELL_TEXT "problem || ', ' || model || ' sample ' || sample || ', ' || world || ' ranks'"
#define OPEN "state <> 'done'" /* for the index of these cells */
#define LAST_DETAIL                                                                                                              \
    "(SELECT detail FROM attempts a INDEXED BY attempts_open WHERE outcome IN ('infra_error', 'not_run') AND a.cell = r.cell"    \
    " ORDER BY +id DESC LIMIT 1)"
#define AT_LINE "file || CASE WHEN line > 0 THEN ':' || line ELSE '' END || ': ' || reason"
/* What the sweep's own `where` left out is a choice, not a loss; pkb plan counts it. */
#define LOST "reason <> '" PLAN_LEFT_OUT_BY_WHERE "'"
#define DRIFTED "b.before_mean > 0 AND b.after_mean > 0 AND abs(b.drift) > 0.05"

static const struct {
    const char *kind, *what, *advice;
    const char *count, *examples; /* SQL; examples give one text each; count NULL: what count_cells says */
} rows[] = {
    {"missing", "cells without a record", RESUME, NULL,
     "SELECT " CELL_TEXT " FROM results WHERE " OPEN " AND state = 'missing' ORDER BY cell"},
    {"infra_error", "cells that failed for reasons outside of the candidate (infra_error)", RESUME " again", NULL,
     "SELECT " CELL_TEXT " || ': ' || coalesce(" LAST_DETAIL ", '')"
     " FROM results r WHERE " OPEN " AND state = 'infra_error' ORDER BY cell"},
    {"not_run", "cells not run", RESUME, NULL,
     "SELECT " CELL_TEXT " || ': ' || coalesce(" LAST_DETAIL ", '')"
     " FROM results r WHERE " OPEN " AND state = 'not_run' ORDER BY cell"},
    {"untimed", "correct cells without times (in pass@k, undecided in fast@k)", "a sweep with iterations.timed > 0 measures them",
     NULL, "SELECT " CELL_TEXT " FROM results WHERE outcome = 'correct' AND speedup IS NULL ORDER BY cell"},
    {"drifted", "baselines that changed by more than 5 % meanwhile (speedups there are doubtful)",
     "repeat them on an idle machine", "SELECT count(*) FROM baselines b WHERE " DRIFTED,
     "SELECT s.problem || ', ' || s.world || ' ranks: ' || printf('%+.1f %%', 100 * b.drift) FROM baselines b JOIN settings s"
     " ON s.id = b.setting WHERE " DRIFTED " ORDER BY abs(b.drift) DESC, b.id"},
    {"malformed", "record lines that are malformed or of an unknown version", "pkb resume RUN runs the cells again",
     "SELECT count(*) FROM problems_found WHERE kind IN ('malformed', 'schema')",
     "SELECT " AT_LINE " FROM problems_found WHERE kind IN ('malformed', 'schema') ORDER BY id"},
    {"torn", "record files whose last line is incomplete (being written, or cut off by a crash)",
     "nothing is lost: pkb resume RUN runs the cell again", "SELECT count(*) FROM problems_found WHERE kind = 'torn'",
     "SELECT " AT_LINE " FROM problems_found WHERE kind = 'torn' ORDER BY id"},
    {"foreign", "record lines or files that do not belong to this run's plan", "all of them: problems_found in RUN/results.db",
     "SELECT count(*) FROM problems_found WHERE kind = 'foreign'",
     "SELECT " AT_LINE " FROM problems_found WHERE kind = 'foreign' ORDER BY id"},
    {"unreadable", "record files that cannot be read (cells in them look missing)",
     "check their permissions and the filesystem, then pkb merge RUN",
     "SELECT count(*) FROM problems_found WHERE kind = 'unreadable'",
     "SELECT " AT_LINE " FROM problems_found WHERE kind = 'unreadable' ORDER BY id"},
    {"duplicate", "results of cells that had one already (the first counts)", "two controllers may have driven the run",
     "SELECT count(*) FROM attempts WHERE duplicate",
     "SELECT r.problem || ', ' || r.model || ' sample ' || r.sample || ', ' || r.world || ' ranks: ' || a.outcome || ' in ' || "
     "f.name"
     " || ':' || a.line || CASE WHEN a.outcome = r.outcome THEN '' ELSE ' (' || r.outcome || ' counts)' END FROM attempts a"
     " JOIN results r ON r.cell = a.cell JOIN files f ON f.id = a.file WHERE a.duplicate ORDER BY a.outcome = r.outcome, a.id"},
    {"skipped", "cells left out when the run was planned", "pkb plan SWEEP shows all reasons",
     "SELECT coalesce(sum(cells), 0) FROM skips WHERE " LOST,
     "SELECT coalesce(problem || ': ', '') || coalesce(model || ': ', '') || CASE WHEN world > 0 THEN world || ' ranks: ' ELSE "
     "'' END"
     " || reason FROM skips WHERE " LOST " ORDER BY cells DESC, rowid"},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int load_examples(struct report_data *d, struct report_note *note, const char *sql, struct pkb_error *err)
{
    sqlite3_stmt *q = database_prepare(&d->db, sql, err);
    int rc = q ? 1 : -1;
    while (rc == 1 && note->n_examples < NOTE_EXAMPLES) {
        rc = database_step(&d->db, q, err);
        if (rc != 1)
            break;
        char *text = strdup(database_text(q, 0));
        if (!text)
            rc = pkb_error_set(err, "out of memory");
        else
            note->examples[note->n_examples++] = text;
    }
    (void)sqlite3_finalize(q);
    return rc < 0 ? -1 : 0;
}

/* The advice with RUN replaced, wherever it stands. */
static char *advice_for(const char *run, const char *advice, struct pkb_error *err)
{
    char *text = strdup("");
    while (text) {
        const char *at = strstr(advice, "RUN");
        char *longer = pkb_format(err, "%s%.*s%s", text, at ? (int)(at - advice) : (int)strlen(advice), advice, at ? run : "");
        free(text);
        text = longer;
        if (!at)
            break;
        advice = at + strlen("RUN");
    }
    return text;
}

/* Counts of the cells in memory. */
static int64_t count_cells(const struct report_data *d, const char *kind)
{
    int64_t n = 0;
    for (size_t i = 0; i < d->total.n; i++) {
        const struct metrics *m = &d->total.items[i].metrics;
        if (strcmp(kind, "missing") == 0)
            n += m->missing;
        else if (strcmp(kind, "untimed") == 0)
            n += m->untimed;
        else
            n += m->outcome[outcome_parse(kind)];
    }
    return n;
}

int report_notes_load(struct report_data *d, struct pkb_error *err)
{
    d->notes = calloc(N_ROWS, sizeof(*d->notes));
    if (!d->notes)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < N_ROWS; i++) {
        int64_t count = rows[i].count ? 0 : count_cells(d, rows[i].kind);
        if (rows[i].count && database_integer(&d->db, rows[i].count, &count, err) < 0)
            return -1;
        if (count == 0)
            continue;
        struct report_note *note = &d->notes[d->n_notes++];
        *note = (struct report_note){.kind = rows[i].kind, .count = count, .what = rows[i].what};
        note->advice = advice_for(d->run, rows[i].advice, err);
        if (!note->advice || load_examples(d, note, rows[i].examples, err) < 0)
            return -1;
    }
    return 0;
}

void report_notes_clear(struct report_data *d)
{
    for (size_t i = 0; i < d->n_notes; i++) {
        free(d->notes[i].advice);
        for (int k = 0; k < d->notes[i].n_examples; k++)
            free(d->notes[i].examples[k]);
    }
    free(d->notes);
    d->notes = NULL;
    d->n_notes = 0;
}
