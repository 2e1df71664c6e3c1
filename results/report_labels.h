/* SPDX-License-Identifier: Apache-2.0 */
/* Names of models as column titles: their own where all fit into a line, else letters that the first table explains; and how many
 * models a table can show side by side. */
#ifndef PKB_RESULTS_REPORT_LABELS_H
#define PKB_RESULTS_REPORT_LABELS_H

#include "results/report_data.h"

#define LINE_WIDTH 100
#define LABEL_MAX 24
#define LABELS_MAX_MARKS 10 /* more samples than that are shown as counts */

enum labels_table { LABELS_OUTCOMES, LABELS_FAMILIES, LABELS_PROBLEMS };

struct labels {
    const struct report_data *d;
    bool letters;
    int fixed; /* width of the problem table without the models' columns */
    int spare; /* of it: what problems' names can do without */
    int marks; /* width of a model's cell there */
};

void labels_init(struct labels *l, const struct report_data *d);

/* A column's title. Borrowed: the model's name, or a constant letter. */
const char *labels_short(const struct labels *l, int model);

/* For a first column: the name, behind its letter where letters are used. */
const char *labels_full(const struct labels *l, int model, char *text, size_t size);

/* One past the last model of the block of columns that starts at `first`. */
int labels_block(const struct labels *l, int first, enum labels_table table);

#endif
