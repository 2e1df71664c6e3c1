/* SPDX-License-Identifier: Apache-2.0 */
/* The text report: counts, estimates, outcomes, problems, and what is not counted, in at most 100 columns. */
#include <stdlib.h>
#include <string.h>

#include "results/report_data.h"
#include "results/report_labels.h"
#include "results/sheet.h"
#include "results/table.h"

#define MAX_SHOWN_K 5

struct printer {
    const struct report_data *d;
    FILE *out;
    bool colour;
    struct labels labels;
    int ks[MAX_SHOWN_K], n_ks;
    const char *tasks; /* "problems" or "tasks" */
    char pass[32], fast[32];
};

static void heading(const struct printer *p, const char *text)
{
    (void)fprintf(p->out, "\n%s%s%s\n", p->colour ? "\033[1m" : "", text, table_style_off(p->colour));
}

static int finish(const struct printer *p, struct table *t, struct pkb_error *err)
{
    table_fit(t, 0, LINE_WIDTH - 2);
    table_fit(t, 1, LINE_WIDTH - 2);
    int rc = table_print(t, p->out, p->colour, err);
    table_destroy(t);
    return rc;
}

/* All k up to 5, else a few and the last. */
static void choose_ks(struct printer *p)
{
    static const int some[] = {1, 2, 3, 5};
    int k_max = p->d->k_max;
    for (int k = 1; k <= k_max && k_max <= MAX_SHOWN_K; k++)
        p->ks[p->n_ks++] = k;
    if (k_max <= MAX_SHOWN_K)
        return;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        p->ks[p->n_ks++] = some[i];
    p->ks[p->n_ks++] = k_max;
}

/* ---- counts and estimates -------------------------------------------------------------------------------------------- */

static void k_columns(const struct printer *p, struct table *t, const char *group)
{
    char title[16];
    for (int i = 0; i < p->n_ks; i++) {
        (void)snprintf(title, sizeof(title), "k=%d", p->ks[i]);
        table_column(t, group, title, TABLE_RIGHT, 0);
    }
}

static void model_columns(const struct printer *p, struct table *t, bool parts)
{
    table_column(t, NULL, "model", TABLE_LEFT, 24);
    if (parts)
        table_column(t, NULL, p->d->by == REPORT_BY_WORLD ? "ranks" : report_by_name(p->d->by), TABLE_LEFT, 18);
    table_column(t, NULL, p->tasks, TABLE_RIGHT, 0);
}

/* A model's name is shown once, above its parts. */
static void model_cells(const struct printer *p, struct table *t, const struct report_groups *g, size_t i, bool parts)
{
    const struct report_group *item = &g->items[i];
    bool repeated = parts && i > 0 && g->items[i - 1].model == item->model;
    char text[160];
    table_cell(t, TABLE_PLAIN, "%s", repeated ? "" : labels_full(&p->labels, item->model, text, sizeof(text)));
    if (parts)
        table_cell(t, TABLE_PLAIN, "%s", item->key);
    table_cell(t, TABLE_PLAIN, "%lld", (long long)item->metrics.tasks);
}

static void count_cells(const struct printer *p, struct table *t, const struct metrics_at_k *at)
{
    for (int i = 0; i < p->n_ks; i++) {
        const struct metrics_at_k *m = &at[p->ks[i] - 1];
        int64_t open = m->undecided + m->absent;
        if (open > 0)
            table_cell(t, TABLE_FAIR, "%lld+%lld?", (long long)m->solved, (long long)open);
        else
            table_cell(t, m->solved > 0 ? TABLE_GOOD : TABLE_PLAIN, "%lld", (long long)m->solved);
    }
}

static void estimate_cells(const struct printer *p, struct table *t, const struct metrics_at_k *at)
{
    for (int i = 0; i < p->n_ks; i++) {
        double e = metrics_estimate(&at[p->ks[i] - 1]);
        if (e < 0)
            table_cell(t, TABLE_FAINT, "-");
        else
            table_cell(t, TABLE_PLAIN, "%.1f", 100 * e);
    }
}

static void number_cell(struct table *t, int64_t n)
{
    table_cell(t, n > 0 ? TABLE_BAD : TABLE_FAINT, "%lld", (long long)n);
}

static struct table *counts_table(const struct printer *p, const struct report_groups *g, bool parts)
{
    struct table *t = table_create();
    model_columns(p, t, parts);
    table_column(t, NULL, "samples", TABLE_RIGHT, 0);
    k_columns(p, t, p->pass);
    k_columns(p, t, p->fast);
    table_column(t, NULL, "missing", TABLE_RIGHT, 0);
    table_column(t, NULL, "infra", TABLE_RIGHT, 0);
    for (size_t i = 0; i < g->n; i++) {
        const struct metrics *m = &g->items[i].metrics;
        model_cells(p, t, g, i, parts);
        table_cell(t, TABLE_PLAIN, "%lld", (long long)m->samples);
        count_cells(p, t, m->pass);
        count_cells(p, t, m->fast);
        number_cell(t, m->missing + m->outcome[OUTCOME_NOT_RUN]);
        number_cell(t, m->outcome[OUTCOME_INFRA_ERROR]);
    }
    return t;
}

/* Tasks that an estimate at the largest k shown leaves out. */
static int64_t left_out(const struct printer *p, const struct metrics *m)
{
    int k = p->ks[p->n_ks - 1] - 1;
    return m->pass[k].short_of_k > m->fast[k].short_of_k ? m->pass[k].short_of_k : m->fast[k].short_of_k;
}

static struct table *estimates_table(const struct printer *p, const struct report_groups *g, bool parts)
{
    struct table *t = table_create();
    char title[32];
    (void)snprintf(title, sizeof(title), "left out at k=%d", p->ks[p->n_ks - 1]);
    model_columns(p, t, parts);
    k_columns(p, t, p->pass);
    k_columns(p, t, p->fast);
    table_column(t, NULL, title, TABLE_RIGHT, 0);
    for (size_t i = 0; i < g->n; i++) {
        const struct metrics *m = &g->items[i].metrics;
        model_cells(p, t, g, i, parts);
        estimate_cells(p, t, m->pass);
        estimate_cells(p, t, m->fast);
        number_cell(t, left_out(p, m));
    }
    return t;
}

static bool fits(struct table *t)
{
    table_fit(t, 0, LINE_WIDTH - 2);
    bool fit = !t || table_width(t) <= LINE_WIDTH - 2;
    table_destroy(t);
    return fit;
}

static bool all_fit(const struct printer *p)
{
    const struct report_data *d = p->d;
    return fits(counts_table(p, &d->total, false)) && fits(counts_table(p, &d->parts, true)) &&
           fits(estimates_table(p, &d->total, false)) && fits(estimates_table(p, &d->parts, true));
}

/* Shows fewer k, keeping the first and the last, where the widest tables would not fit into a line. */
static void drop_ks(struct printer *p)
{
    while (p->n_ks > 2 && !all_fit(p)) {
        p->ks[p->n_ks - 2] = p->ks[p->n_ks - 1];
        p->n_ks--;
    }
}

static bool any_open(const struct report_groups *g)
{
    for (size_t i = 0; i < g->n; i++)
        for (int k = 0; k < g->items[i].metrics.k_max; k++) {
            const struct metrics_at_k *f = &g->items[i].metrics.fast[k], *s = &g->items[i].metrics.pass[k];
            if (f->undecided + f->absent + s->undecided + s->absent > 0)
                return true;
        }
    return false;
}

static int metrics_tables(const struct printer *p, struct pkb_error *err)
{
    const struct report_data *d = p->d;
    bool parts = d->parts.n > 0;
    char text[128];
    (void)snprintf(text, sizeof(text), "%c%s solved by at least one of a model's first k samples", p->tasks[0] - 'a' + 'A',
                   p->tasks + 1);
    heading(p, text);
    if (finish(p, counts_table(p, &d->total, false), err) < 0 || (parts && fputc('\n', p->out) == EOF) ||
        (parts && finish(p, counts_table(p, &d->parts, true), err) < 0))
        return -1;
    if (any_open(&d->total))
        (void)fprintf(p->out, "  12+3? : 12 solved, 3 more undecided, because samples are missing or were not timed\n");
    heading(p, "Unbiased estimates, % (mean over the samples of each problem)");
    if (finish(p, estimates_table(p, &d->total, false), err) < 0 || (parts && fputc('\n', p->out) == EOF))
        return -1;
    return parts ? finish(p, estimates_table(p, &d->parts, true), err) : 0;
}

/* ---- outcomes -------------------------------------------------------------------------------------------------------- */

struct tally {
    char mark;
    const char *what;
    enum table_style style;
};

/* Every kind of cell, in the order of the taxonomy; correct ones by speed. */
static int tallies(struct tally rows[OUTCOME_COUNT + 3])
{
    int n = 0;
    rows[n++] = (struct tally){MARK_FAST, "correct, fast", TABLE_GOOD};
    rows[n++] = (struct tally){MARK_SLOW, "correct, not fast", TABLE_FAIR};
    rows[n++] = (struct tally){MARK_UNTIMED, "correct, not timed", TABLE_FAIR};
    for (int o = OUTCOME_CORRECT + 1; o < OUTCOME_COUNT; o++)
        rows[n++] = (struct tally){report_outcome_mark((enum outcome)o), outcome_name((enum outcome)o), TABLE_BAD};
    rows[n++] = (struct tally){MARK_MISSING, "missing", TABLE_FAINT};
    return n;
}

static int64_t count_marks(const struct report_data *d, int model, char mark)
{
    int64_t n = 0;
    for (size_t i = 0; i < d->n_problems; i++)
        for (const char *m = d->problems[i].marks[model]; m && *m; m++)
            n += *m == mark;
    return n;
}

static int outcome_block(const struct printer *p, int first, int end, struct pkb_error *err)
{
    const struct report_data *d = p->d;
    struct tally rows[OUTCOME_COUNT + 3];
    int n = tallies(rows);
    struct table *t = table_create();
    table_column(t, NULL, "", TABLE_LEFT, 1);
    table_column(t, NULL, "outcome", TABLE_LEFT, 0);
    for (int m = first; m < end; m++)
        table_column(t, NULL, labels_short(&p->labels, m), TABLE_RIGHT, LABEL_MAX);
    for (int i = 0; i < n; i++) {
        int64_t all = 0;
        for (int m = 0; m < d->n_models; m++)
            all += count_marks(d, m, rows[i].mark);
        if (all == 0)
            continue;
        table_cell(t, rows[i].style, "%c", rows[i].mark);
        table_cell(t, TABLE_PLAIN, "%s", rows[i].what);
        for (int m = first; m < end; m++) {
            int64_t count = count_marks(d, m, rows[i].mark);
            table_cell(t, count ? TABLE_PLAIN : TABLE_FAINT, "%lld", (long long)count);
        }
    }
    return finish(p, t, err);
}

static int outcome_tables(const struct printer *p, struct pkb_error *err)
{
    char text[128];
    if (p->d->p == 1)
        (void)snprintf(text, sizeof(text), "Outcomes (fast: faster than the reference)");
    else
        (void)snprintf(text, sizeof(text), "Outcomes (fast: more than %g times as fast as the reference)", p->d->p);
    heading(p, text);
    for (int first = 0; first < p->d->n_models; first = labels_block(&p->labels, first, LABELS_OUTCOMES))
        if (outcome_block(p, first, labels_block(&p->labels, first, LABELS_OUTCOMES), err) < 0)
            return -1;
    return 0;
}

/* ---- families -------------------------------------------------------------------------------------------------------- */

static const struct report_group *family_of(const struct report_data *d, int model, const char *family)
{
    for (size_t i = 0; i < d->families.n; i++)
        if (d->families.items[i].model == model && strcmp(d->families.items[i].key, family) == 0)
            return &d->families.items[i];
    return NULL;
}

/* "12/3?": 12 solved, 3 of them fast, or more. */
static void family_cell(const struct printer *p, struct table *t, const struct report_group *g)
{
    int k = p->d->k_max - 1;
    if (!g) {
        table_cell(t, TABLE_FAINT, "-");
        return;
    }
    const struct metrics_at_k *pass = &g->metrics.pass[k], *fast = &g->metrics.fast[k];
    table_cell(t, pass->solved ? TABLE_PLAIN : TABLE_FAINT, "%lld%s/%lld%s", (long long)pass->solved,
               pass->undecided + pass->absent ? "?" : "", (long long)fast->solved, fast->undecided + fast->absent ? "?" : "");
}

static bool is_first_of(const struct report_groups *g, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(g->items[k].key, g->items[i].key) == 0)
            return false;
    return true;
}

static int family_block(const struct printer *p, int first, int end, struct pkb_error *err)
{
    const struct report_groups *g = &p->d->families;
    struct table *t = table_create();
    table_column(t, NULL, "family", TABLE_LEFT, 24);
    table_column(t, NULL, p->tasks, TABLE_RIGHT, 0);
    for (int m = first; m < end; m++)
        table_column(t, NULL, labels_short(&p->labels, m), TABLE_RIGHT, LABEL_MAX);
    for (size_t i = 0; i < g->n; i++) {
        if (!is_first_of(g, i))
            continue;
        table_cell(t, TABLE_PLAIN, "%s", g->items[i].key);
        table_cell(t, TABLE_PLAIN, "%lld", (long long)g->items[i].metrics.tasks);
        for (int m = first; m < end; m++)
            family_cell(p, t, family_of(p->d, m, g->items[i].key));
    }
    return finish(p, t, err);
}

static int family_tables(const struct printer *p, struct pkb_error *err)
{
    char text[128];
    (void)snprintf(text, sizeof(text), "By family: pass@%d/fast%g@%d (12/3?: 12 solved, 3 fast; ?: or more, samples are missing)",
                   p->d->k_max, p->d->p, p->d->k_max);
    heading(p, text);
    for (int first = 0; first < p->d->n_models; first = labels_block(&p->labels, first, LABELS_FAMILIES))
        if (family_block(p, first, labels_block(&p->labels, first, LABELS_FAMILIES), err) < 0)
            return -1;
    return 0;
}

/* ---- problems -------------------------------------------------------------------------------------------------------- */

static void problem_columns(const struct printer *p, struct table *t, int first, int end)
{
    const struct report_data *d = p->d;
    table_column(t, NULL, "problem", TABLE_LEFT, 32);
    if (d->n_worlds > 1)
        table_column(t, NULL, "ranks", TABLE_RIGHT, 0);
    if (d->n_dtypes > 1)
        table_column(t, NULL, "dtype", TABLE_LEFT, 8);
    if (d->n_shapes > 1)
        table_column(t, NULL, "shape", TABLE_LEFT, 8);
    table_column(t, NULL, "baseline", TABLE_RIGHT, 0);
    table_column(t, "best candidate", "from", TABLE_LEFT, LABEL_MAX + 4);
    table_column(t, "best candidate", "time", TABLE_RIGHT, 0);
    table_column(t, "best candidate", "speedup", TABLE_RIGHT, 0);
    for (int m = first; m < end; m++)
        table_column(t, NULL, labels_short(&p->labels, m), TABLE_LEFT, LABEL_MAX);
}

static void best_cells(const struct printer *p, struct table *t, const struct report_problem *row)
{
    char text[32];
    if (row->best_model < 0)
        table_cell(t, TABLE_FAINT, "-");
    else
        table_cell(t, TABLE_PLAIN, "%s/%d", labels_short(&p->labels, row->best_model), row->best_sample);
    report_format_ns(row->best_ns, text, sizeof(text));
    table_cell(t, TABLE_PLAIN, "%s", text);
    if (row->best_speedup > 0)
        table_cell(t, row->best_speedup > p->d->p ? TABLE_GOOD : TABLE_FAIR, "%.2fx", row->best_speedup);
    else
        table_cell(t, TABLE_FAINT, "-");
}

/* Marks while they fit, else how many are fast, correct and planned. */
static void marks_cell(struct table *t, const char *marks)
{
    int fast = 0, correct = 0, n = marks ? (int)strlen(marks) : 0;
    if (n <= LABELS_MAX_MARKS) {
        table_cell(t, TABLE_MARKS, "%s", marks ? marks : "");
        return;
    }
    for (const char *m = marks; *m; m++) {
        fast += *m == MARK_FAST;
        correct += *m == MARK_FAST || *m == MARK_SLOW || *m == MARK_UNTIMED;
    }
    table_cell(t, TABLE_PLAIN, "%d/%d/%d", fast, correct, n);
}

static int problem_block(const struct printer *p, int first, int end, struct pkb_error *err)
{
    const struct report_data *d = p->d;
    struct table *t = table_create();
    problem_columns(p, t, first, end);
    for (size_t i = 0; i < d->n_problems; i++) {
        const struct report_problem *row = &d->problems[i];
        char baseline[32];
        report_format_ns(row->baseline_ns, baseline, sizeof(baseline));
        table_cell(t, TABLE_PLAIN, "%s", row->name);
        if (d->n_worlds > 1)
            table_cell(t, TABLE_PLAIN, "%d", row->world);
        if (d->n_dtypes > 1)
            table_cell(t, TABLE_PLAIN, "%s", row->dtype);
        if (d->n_shapes > 1)
            table_cell(t, TABLE_PLAIN, "%s", row->shape);
        table_cell(t, TABLE_PLAIN, "%s", baseline);
        best_cells(p, t, row);
        for (int m = first; m < end; m++)
            marks_cell(t, row->marks[m]);
    }
    return finish(p, t, err);
}

static int problem_tables(const struct printer *p, struct pkb_error *err)
{
    heading(p, p->d->most_samples <= LABELS_MAX_MARKS
                   ? "Problems (one mark per sample; the marks are those of the outcomes above)"
                   : "Problems (fast/correct/planned samples per model)");
    for (int first = 0; first < p->d->n_models; first = labels_block(&p->labels, first, LABELS_PROBLEMS))
        if (problem_block(p, first, labels_block(&p->labels, first, LABELS_PROBLEMS), err) < 0)
            return -1;
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------- */

static void prepare(struct printer *p, const struct report_data *d, FILE *out, bool colour)
{
    *p = (struct printer){.d = d, .out = out, .colour = colour, .tasks = report_tasks_are_problems(d) ? "problems" : "tasks"};
    (void)snprintf(p->pass, sizeof(p->pass), "pass@k");
    (void)snprintf(p->fast, sizeof(p->fast), "fast%g@k", d->p);
    choose_ks(p);
    labels_init(&p->labels, d);
    drop_ks(p);
}

void report_text_notes(const struct report_data *d, FILE *out, bool colour)
{
    struct printer all = {.d = d, .out = out, .colour = colour}, *p = &all;
    char clean[LINE_WIDTH - 5];
    heading(p, "Not counted");
    if (p->d->n_notes == 0)
        (void)fprintf(p->out, "  nothing: every planned cell has a result, and every record line was good\n");
    for (size_t i = 0; i < p->d->n_notes; i++) {
        const struct report_note *n = &p->d->notes[i];
        (void)fprintf(p->out, "  %s: %s%lld%s\n", n->what, table_style_on(TABLE_FAIR, p->colour), (long long)n->count,
                      table_style_off(p->colour));
        for (int k = 0; k < n->n_examples; k++)
            (void)fprintf(p->out, "      %s\n", table_clean(n->examples[k], clean, sizeof(clean)));
        if (n->count > n->n_examples)
            (void)fprintf(p->out, "      ... and %lld more\n", (long long)(n->count - n->n_examples));
        (void)fprintf(p->out, "      -> %s\n", n->advice);
    }
}

void report_text_head(const struct report_data *d, FILE *out, bool colour)
{
    const struct merge_summary *s = &d->summary;
    char name[64];
    (void)fprintf(out, "%sRun %s%s: %lld of %lld cells have a result; %lld problems, %d model%s", colour ? "\033[1m" : "",
                  table_clean(d->name[0] ? d->name : "(unnamed)", name, sizeof(name)), table_style_off(colour),
                  (long long)s->done, (long long)s->cells, (long long)d->n_problems_named, d->n_models,
                  d->n_models == 1 ? "" : "s");
    if (d->n_worlds == 1 && d->n_problems > 0)
        (void)fprintf(out, ", %d rank%s", d->problems[0].world, d->problems[0].world == 1 ? "" : "s");
    (void)fputc('\n', out);
    if (!report_tasks_are_problems(d))
        (void)fprintf(out, "A task is a problem at one world size, dtype and shape: %zu tasks.\n", d->n_problems);
    if (d->environment[0]) {
        (void)fputs("Measured with\n", out);
        sheet_print_note(out, d->environment, colour);
    }
}

int report_text_metrics(const struct report_data *d, FILE *out, bool colour, struct pkb_error *err)
{
    struct printer p;
    prepare(&p, d, out, colour);
    return metrics_tables(&p, err);
}

int report_text_problems(const struct report_data *d, FILE *out, bool colour, bool with_problems, struct pkb_error *err)
{
    struct printer p;
    prepare(&p, d, out, colour);
    if (with_problems && family_tables(&p, err) < 0)
        return -1;
    if (outcome_tables(&p, err) < 0 || (with_problems && problem_tables(&p, err) < 0))
        return -1;
    if (!with_problems)
        (void)fprintf(out, "\n%zu lines of single problems are left out here; pkb report shows them.\n", d->n_problems);
    return 0;
}
