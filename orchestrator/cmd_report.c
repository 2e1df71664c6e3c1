/* SPDX-License-Identifier: Apache-2.0 */
/* pkb report: the tables of a run. */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/rundir.h"
#include "results/report.h"
#include "util/suggest.h"

#define KEY_CSV 256

struct arguments {
    const char *run;
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

static void parse_csv(struct argp_state *state, const char *arg, struct report_options *o)
{
    static const char *const words[] = {"metrics", "problems", "cells"};
    if (o->format == REPORT_JSON)
        argp_error(state, "--json and --csv exclude each other");
    o->format = REPORT_CSV;
    o->csv = arg ? (enum report_csv)choose(state, "--csv", arg, words, 3) : REPORT_CSV_METRICS;
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
    double value = strtod(arg, &end);
    bool number = end != arg && *end == '\0' && isfinite(value);
    if (key == 'k') {
        if (!number || value != floor(value) || value < 1 || value > REPORT_MAX_K)
            argp_error(state, "-k: '%s' is not a whole number from 1 to %d", arg, REPORT_MAX_K);
        o->k = (int)value;
    } else {
        if (!number || value <= 0)
            argp_error(state, "-p: '%s' is not a number above 0", arg);
        o->p = value;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'j':
        if (a->options.format == REPORT_CSV)
            argp_error(state, "--json and --csv exclude each other");
        a->options.format = REPORT_JSON;
        return 0;
    case KEY_CSV:
        parse_csv(state, arg, &a->options);
        return 0;
    case 'b':
        parse_by(state, arg, &a->options);
        return 0;
    case 'k':
    case 'p':
        parse_number(state, key, arg, &a->options);
        return 0;
    case ARGP_KEY_ARG:
        if (a->run)
            argp_error(state, "one run directory at a time: '%s'", arg);
        a->run = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->run)
            argp_error(state, "which run directory?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int cmd_report(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"json", 'j', NULL, 0, "Print everything as JSON", 0},
        {"csv", KEY_CSV, "TABLE", OPTION_ARG_OPTIONAL, "Print one table as CSV: metrics (default), problems, cells", 0},
        {"by", 'b', "WHAT", 0, "Split the metrics by world, family, dtype or shape (default: by world where there are several)",
         0},
        {"k", 'k', "K", 0, "Up to pass@K (default: the number of samples, at most 10)", 0},
        {"p", 'p', "P", 0, "Fast means more than P times as fast as the reference (default 1)", 0},
        {0}};
    static const struct argp argp = {
        options,
        parse,
        "RUN",
        "Tables of a run: pass@k and fast1@k per model, outcomes, one line per problem, and what is not "
        "counted and why. Merges first when the records are newer than RUN/results.db.\v" PKB_EXIT_DOC,
        NULL,
        NULL,
        NULL};
    struct arguments a = {0};
    struct pkb_error err;
    bool complete = false;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    a.options.colour = report_wants_colour(stdout);
    struct rundir *run = rundir_open(a.run, &err);
    if (!run)
        return command_fail(PKB_EXIT_USAGE, &err);
    int rc = report_print(run->path, stdout, &a.options, &complete, &err);
    rundir_destroy(run);
    if (rc < 0)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    return complete ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
}
