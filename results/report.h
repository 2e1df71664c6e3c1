/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a run, from RUN/results.db, which is merged first when it is older than the records.
 *
 * Text: who solved how many problems (pass@k and fast1@k as counts and as estimates), outcomes per model, one line per problem, and
 * what is not counted and why; at most 100 columns. JSON: everything, nested. CSV: one table with stable column names
 * (docs/records.md). docs/metrics.md defines the figures.
 */
#ifndef PKB_RESULTS_REPORT_H
#define PKB_RESULTS_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_MARKDOWN, REPORT_LATEX, REPORT_HTML };

/* What the second table of metrics is split by. */
enum report_by {
    REPORT_BY_DEFAULT, /* by world size where there are several, else not at all */
    REPORT_BY_WORLD,
    REPORT_BY_FAMILY,
    REPORT_BY_DTYPE,
    REPORT_BY_SHAPE,
};

/* What the hardware needs at least for a setting, and what that says about a measured time. */
struct report_bound {
    double bound_ns;      /* 0: none is known */
    const char *resource; /* that binds: "compute", "memory", "link", "none" */
    const char *verdict;  /* "plausible", "above_model", "impossible", "unknown" */
};

/* The bound of the setting with this digest, whose ranks were on so many nodes. 0, or -1: there is none (which is no error of the
 * report). */
typedef int report_bound_fn(void *arg, const char *setting, int nodes, double measured_ns, struct report_bound *bound);

/* The machine that utilisations refer to. */
struct report_machine {
    const char *name, *figures; /* "h100-sxm-8", "datasheet" */
    const char *digest;         /* of its description */
    report_bound_fn *bound;
    void *arg;
};

struct report_options {
    enum report_format format;
    enum report_by by;
    const char *csv;                      /* which table a CSV holds; NULL: "metrics" */
    const char *compare;                  /* "published", or another run's directory; NULL: nothing */
    int k;                                /* up to pass@k; 0: the number of samples, at most 10 */
    double p;                             /* fast_p: correct and speedup > p; 0: 1 */
    uint64_t seed;                        /* of the bootstrap's draws, below 2^63 */
    int replicates;                       /* of the bootstrap; 0: 1000 */
    bool colour;                          /* of text */
    const struct report_machine *machine; /* NULL: no utilisation */
};

#define REPORT_MAX_K 1000
#define REPORT_MAX_REPLICATES 100000

/* The names of the tables that a CSV can hold (docs/records.md describes them), for checking an option. */
extern const char *const report_csv_tables[];
extern const int report_csv_table_count;

/* Colours are fine when `out` is a terminal, TERM is not "dumb" and NO_COLOR is not set. */
bool report_wants_colour(FILE *out);

/* Merges when needed and prints. 0, or -1 with the error set: no run, no plan, `out` cannot be written. Cells without a result are
 * no error; *complete (may be NULL) says whether there are none. */
int report_print(const char *run, FILE *out, const struct report_options *o, bool *complete, struct pkb_error *err);

/* What `pkb run` shows at its end: the text report, without the lines per problem when there are more than 120. */
int report_print_summary(const char *run, FILE *out, const struct report_options *o, struct pkb_error *err);

#endif
