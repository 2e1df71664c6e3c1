/* SPDX-License-Identifier: Apache-2.0 */
/* pkb report: the tables of a run. */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/run_topology.h"
#include "orchestrator/rundir.h"
#include "results/plan_settings.h"
#include "results/report.h"
#include "results/rooflines.h"
#include "util/file.h"
#include "util/suggest.h"

#define KEY_CSV 256
#define KEY_SEED 257
#define KEY_REPLICATES 258
#define KEY_COMPARE 259

struct arguments {
    const char *run, *output, *topology;
    bool format_given;
    struct report_options options;
};

/* The number of a word in a list, or an error that names the likely one. */
static int choose(struct argp_state *state, const char *option, const char *word, const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    const char *near = pkb_suggest(word, words, (size_t)n);
    argp_error(state, "%s: unknown '%s'%s%s%s", option, word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return -1;
}

static void set_format(struct argp_state *state, enum report_format format)
{
    struct arguments *a = state->input;
    if (a->format_given && a->options.format != format)
        argp_error(state, "one format at a time");
    a->format_given = true;
    a->options.format = format;
}

static void parse_format(struct argp_state *state, const char *arg)
{
    static const char *const words[] = {"text", "json", "csv", "markdown", "latex", "html"};
    static const enum report_format formats[] = {REPORT_TEXT,     REPORT_JSON,  REPORT_CSV,
                                                 REPORT_MARKDOWN, REPORT_LATEX, REPORT_HTML};
    int i = choose(state, "--format", arg, words, 6);
    if (i >= 0)
        set_format(state, formats[i]);
}

static void parse_csv(struct argp_state *state, const char *arg, struct report_options *o)
{
    set_format(state, REPORT_CSV);
    if (arg && choose(state, "--csv", arg, report_csv_tables, report_csv_table_count) >= 0)
        o->csv = arg;
}

static void parse_by(struct argp_state *state, const char *arg, struct report_options *o)
{
    static const char *const words[] = {"world", "family", "dtype", "shape"};
    static const enum report_by by[] = {REPORT_BY_WORLD, REPORT_BY_FAMILY, REPORT_BY_DTYPE, REPORT_BY_SHAPE};
    int i = choose(state, "--by", arg, words, 4);
    if (i >= 0)
        o->by = by[i];
}

static void parse_number(struct argp_state *state, int key, const char *arg, struct report_options *o)
{
    char *end;
    switch (key) {
    case 'k':
        o->k = (int)option_integer(state, "-k", arg, 1, REPORT_MAX_K);
        break;
    case KEY_SEED:
        o->seed = (uint64_t)option_integer(state, "--seed", arg, 0, 9007199254740992);
        break;
    case KEY_REPLICATES:
        o->replicates = (int)option_integer(state, "--bootstrap", arg, 1, REPORT_MAX_REPLICATES);
        break;
    default:
        o->p = strtod(arg, &end);
        if (end == arg || *end || !isfinite(o->p) || o->p <= 0)
            argp_error(state, "-p: '%s' is not a number above 0", arg);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'j':
        set_format(state, REPORT_JSON);
        return 0;
    case 'f':
        parse_format(state, arg);
        return 0;
    case 'o':
        a->output = arg;
        return 0;
    case 't':
        a->topology = arg;
        return 0;
    case KEY_COMPARE:
        a->options.compare = arg;
        return 0;
    case KEY_CSV:
        parse_csv(state, arg, &a->options);
        return 0;
    case 'b':
        parse_by(state, arg, &a->options);
        return 0;
    case 'k':
    case 'p':
    case KEY_SEED:
    case KEY_REPLICATES:
        parse_number(state, key, arg, &a->options);
        return 0;
    default:
        return option_run(key, arg, state, &a->run);
    }
}

/* Into a file: written beside it and renamed, so that a reader never sees half a report. */
static int print_to_file(const struct arguments *a, const char *run, bool *complete, struct pkb_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return pkb_error_errno(err, "the report");
    int rc = report_print(run, out, &a->options, complete, err);
    if (fclose(out) != 0 && rc == 0)
        rc = pkb_error_errno(err, "the report");
    if (rc == 0)
        rc = pkb_file_write(a->output, text, size, err);
    free(text);
    return rc;
}

/* The run to compare with is one: its path as the report needs it. */
static int open_other(const char *name, struct rundir **other, struct report_options *o, struct pkb_error *err)
{
    if (!name || strcmp(name, "published") == 0)
        return 0;
    *other = rundir_open(name, err);
    if (!*other)
        return pkb_error_prefix(err, "--compare");
    o->compare = (*other)->path;
    return 0;
}

/* A machine's bounds for the settings of a run. */
struct machine {
    struct topology topology;
    char digest[PKB_DIGEST_HEX];
    struct plan *plan;
    struct rooflines *rooflines;
    struct report_machine report;
};

static int bound_of(void *arg, const char *setting, int nodes, double measured_ns, struct report_bound *bound)
{
    const struct machine *m = arg;
    struct roofline_cell c;
    if (rooflines_cell(m->rooflines, setting, nodes, measured_ns, &c, NULL) < 0)
        return -1;
    *bound = (struct report_bound){.bound_ns = c.roofline.bound * 1e9,
                                   .resource = roofline_resource_name(c.roofline.binds),
                                   .verdict = roofline_verdict_name(c.verdict)};
    return 0;
}

/* Lists of cells show no bounds. */
static bool needs_machine(const struct report_options *o)
{
    return !(o->format == REPORT_CSV && o->csv && strcmp(o->csv, "cells") == 0);
}

/* The machine that was named, else the one that the run keeps, if any. */
static int open_machine(struct machine *m, const struct rundir *run, const char *name, struct report_options *o,
                        struct pkb_error *err)
{
    int known = name || needs_machine(o) ? run_topology_find(run, name, NULL, &m->topology, err) : 0;
    if (known <= 0)
        return known;
    m->plan = plan_settings_load(run->path, err);
    m->rooflines = m->plan ? rooflines_create(m->plan, &m->topology, err) : NULL;
    if (!m->rooflines || topology_digest(&m->topology, m->digest, err) < 0)
        return -1;
    m->report = (struct report_machine){.name = m->topology.name,
                                        .figures = topology_figures_words[m->topology.figures],
                                        .digest = m->digest,
                                        .bound = bound_of,
                                        .arg = m};
    o->machine = &m->report;
    return 0;
}

static void close_machine(struct machine *m)
{
    rooflines_destroy(m->rooflines);
    plan_destroy(m->plan);
}

static int print(struct arguments *a, bool *complete)
{
    struct pkb_error err;
    static struct machine machine; /* a topology is large */
    struct rundir *other = NULL, *run = rundir_open(a->run, &err);
    if (!run || open_other(a->options.compare, &other, &a->options, &err) < 0 ||
        open_machine(&machine, run, a->topology, &a->options, &err) < 0) {
        close_machine(&machine);
        rundir_destroy(other);
        rundir_destroy(run);
        return command_fail(PKB_EXIT_USAGE, &err);
    }
    a->options.colour = !a->output && report_wants_colour(stdout);
    int rc =
        a->output ? print_to_file(a, run->path, complete, &err) : report_print(run->path, stdout, &a->options, complete, &err);
    close_machine(&machine);
    rundir_destroy(run);
    rundir_destroy(other);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, &err) : PKB_EXIT_OK;
}

int cmd_report(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"format", 'f', "FORMAT", 0, "text (default), markdown, csv, json, latex (booktabs tables), html (one file with plots)",
         0},
        {"output", 'o', "FILE", 0, "Write to FILE instead of the standard output", 0},
        {"json", 'j', NULL, 0, "The same as --format json", 0},
        {"csv", KEY_CSV, "TABLE", OPTION_ARG_OPTIONAL,
         "One table as CSV: metrics (default), problems, cells, paper, models, parts, estimates, speedups, curves, scaling, new, "
         "families, outcomes, not_counted; where the machine is known: utilisation; with --compare: published, change_models, "
         "changes",
         0},
        {"compare", KEY_COMPARE, "WHAT", 0, "Set it beside the published figures (WHAT = published) or another run directory", 0},
        {"topology", 't', "NAME", 0,
         "Show the utilisation of this machine ('pkb topo list' shows names; default: the one that the run keeps, if any)", 0},
        {"by", 'b', "WHAT", 0, "Split the metrics by world, family, dtype or shape (default: by world where there are several)",
         0},
        {"k", 'k', "K", 0, "Up to pass@K (default: the number of samples, at most 10)", 0},
        {"p", 'p', "P", 0, "Fast means more than P times as fast as the reference (default 1)", 0},
        {"seed", KEY_SEED, "N", 0, "Seed of the bootstrap's draws (default 0)", 0},
        {"bootstrap", KEY_REPLICATES, "N", 0, "Replicates of the bootstrap (default 1000)", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "RUN",
        "Tables of a run: pass@k and fast1@k per model with 95 % intervals, speedups, outcomes, one line per problem, and what "
        "is not "
        "counted and why. Merges first when the records are newer than RUN/results.db.\v" PKB_EXIT_DOC,
        NULL,
        NULL,
        NULL};
    struct arguments a = {0};
    bool complete = false;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    int rc = print(&a, &complete);
    if (rc != PKB_EXIT_OK)
        return rc;
    return complete ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
}
