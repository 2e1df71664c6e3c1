/* SPDX-License-Identifier: Apache-2.0 */
/* Plots as inline SVG for the HTML report. Each has a title and a description for people who do not see it; series differ by colour,
 * marker and dash; colours come from the page's style sheet (classes s0 .. s7), so that light and dark pages and paper work.
 */
#ifndef PKB_RESULTS_PLOT_H
#define PKB_RESULTS_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define PLOT_COLOURS 8
#define PLOT_MAX_SERIES 16 /* more are left out, and the description says so */

struct plot_point {
    double x, y; /* not finite: left out */
};

struct plot_series {
    const char *name;
    const struct plot_point *points;
    int n;
    bool lines; /* else markers alone */
};

struct plot_axis {
    const char *label;
    double low, high; /* low < high */
    bool log2;        /* ticks at powers of two; low > 0 */
    bool log10;       /* ticks at powers of ten; low > 0 */
    bool whole;       /* ticks at whole numbers */
    bool share;       /* 0..1, shown as per cent */
};

struct plot {
    const char *id; /* unique in the page: [a-z0-9-]+ */
    const char *title, *description;
    struct plot_axis x, y;
    const struct plot_series *series;
    int n_series;
};

void plot_print(const struct plot *p, FILE *out);

/* Horizontal bars of parts, one bar per row; every part has a mark, which is shown in it where there is room. */
struct plot_part {
    const char *name;
    char mark;
    int class; /* bar colour, of the page's classes o0 .. */
};

struct plot_bars {
    const char *id, *title, *description;
    const char *const *rows;
    int n_rows;
    const struct plot_part *parts;
    int n_parts;
    const double *values; /* [row][part] */
};

void plot_bars_print(const struct plot_bars *p, FILE *out);

/* A grid of shares with the numbers in it. */
struct plot_map {
    const char *id, *title, *description;
    const char *const *rows, *const *columns;
    int n_rows, n_columns;
    const double *part, *whole; /* [row][column]; whole 0: nothing there */
};

void plot_map_print(const struct plot_map *p, FILE *out);

/* Shared: the figure's start with title and description, and its end. Captions repeat the title for the eye. */
void plot_begin(FILE *out, const char *id, const char *title, const char *description, int width, int height);
void plot_end(FILE *out);
void plot_text(FILE *out, double x, double y, const char *anchor, const char *class, const char *text, int max);

#endif
