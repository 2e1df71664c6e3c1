/* SPDX-License-Identifier: Apache-2.0 */
/* Bars of parts, and grids of shares. */
#include <math.h>

#include "results/plot.h"
#include "results/sheet.h"

#define WIDTH 680
#define LEFT 170
#define ROW 26
#define LEGEND_ROW 18

/* ---- bars ------------------------------------------------------------------------------------------------------------- */

static void part(FILE *out, const struct plot_part *what, double x, double y, double width, double value, double sum)
{
    char mark[2] = {what->mark, '\0'};
    (void)fprintf(out, "<g><title>");
    sheet_escape_html(out, what->name);
    (void)fprintf(out, ": %g of %g</title><rect class=\"bar o%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>", value,
                  sum, what->class, x, y, width, ROW - 6);
    if (width >= 12)
        plot_text(out, x + width / 2, y + ROW - 12, "middle", "inside", mark, 1);
    (void)fputs("</g>\n", out);
}

static void bar(const struct plot_bars *p, FILE *out, int row)
{
    const double *values = &p->values[row * p->n_parts];
    double sum = 0, x = LEFT;
    for (int i = 0; i < p->n_parts; i++)
        sum += values[i];
    plot_text(out, LEFT - 8, row * ROW + ROW - 10, "end", "name", p->rows[row], 22);
    for (int i = 0; i < p->n_parts && sum > 0; i++) {
        double width = values[i] / sum * (WIDTH - LEFT - 10);
        if (values[i] > 0)
            part(out, &p->parts[i], x, row * ROW + 2, width, values[i], sum);
        x += width;
    }
}

static bool is_used(const struct plot_bars *p, int part_index)
{
    for (int r = 0; r < p->n_rows; r++)
        if (p->values[r * p->n_parts + part_index] > 0)
            return true;
    return false;
}

void plot_bars_print(const struct plot_bars *p, FILE *out)
{
    int used = 0, at = 0;
    for (int i = 0; i < p->n_parts; i++)
        used += is_used(p, i);
    int legend = p->n_rows * ROW + 12, height = legend + (used + 3) / 4 * LEGEND_ROW + 4;
    plot_begin(out, p->id, p->title, p->description, WIDTH, height);
    for (int r = 0; r < p->n_rows; r++)
        bar(p, out, r);
    for (int i = 0; i < p->n_parts; i++) {
        char mark[2] = {p->parts[i].mark, '\0'};
        double x = 10 + at % 4 * 168, y = legend + at / 4 * LEGEND_ROW;
        if (!is_used(p, i))
            continue;
        (void)fprintf(out, "<rect class=\"bar o%d\" x=\"%.1f\" y=\"%.1f\" width=\"15\" height=\"15\"/>", p->parts[i].class, x, y);
        plot_text(out, x + 7.5, y + 12, "middle", "inside", mark, 1);
        plot_text(out, x + 21, y + 12, "start", "name", p->parts[i].name, 22);
        at++;
    }
    plot_end(out);
}

/* ---- grids ------------------------------------------------------------------------------------------------------------- */

static void cell(const struct plot_map *p, FILE *out, int row, int column, double width)
{
    double part_of = p->part[row * p->n_columns + column], whole = p->whole[row * p->n_columns + column];
    double x = LEFT + column * width, y = ROW + 8 + row * ROW;
    char text[64];
    if (whole <= 0) {
        plot_text(out, x + width / 2, y + ROW - 9, "middle", "tick", "-", 1);
        return;
    }
    (void)snprintf(text, sizeof(text), "%g/%g", part_of, whole);
    (void)fprintf(out, "<rect class=\"heat\" style=\"fill-opacity:%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\"/>",
                  0.06 + 0.5 * part_of / whole, x + 1, y + 1, width - 2, ROW - 2);
    plot_text(out, x + width / 2, y + ROW - 9, "middle", "name", text, 16);
}

void plot_map_print(const struct plot_map *p, FILE *out)
{
    double width = (WIDTH - LEFT - 4.0) / (p->n_columns > 0 ? p->n_columns : 1);
    width = fmin(width, 130);
    int characters = (int)(width / 7.2);
    plot_begin(out, p->id, p->title, p->description, WIDTH, ROW + 12 + p->n_rows * ROW);
    for (int c = 0; c < p->n_columns; c++)
        plot_text(out, LEFT + c * width + width / 2, ROW - 6, "middle", "label", p->columns[c], characters > 2 ? characters : 2);
    for (int r = 0; r < p->n_rows; r++) {
        plot_text(out, LEFT - 8, ROW + 8 + r * ROW + ROW - 9, "end", "name", p->rows[r], 24);
        for (int c = 0; c < p->n_columns; c++)
            cell(p, out, r, c, width);
    }
    plot_end(out);
}
