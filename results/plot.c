/* SPDX-License-Identifier: Apache-2.0 */
#include "results/plot.h"

#include <math.h>
#include <string.h>

#include "results/scan.h"
#include "results/sheet.h"

#define WIDTH 680
#define HEIGHT 330
#define LEFT 58
#define RIGHT 190 /* with the legend */
#define TOP 14
#define BOTTOM 48

void plot_begin(FILE *out, const char *id, const char *title, const char *description, int width, int height)
{
    (void)fprintf(out, "<figure id=\"f-%s\"><figcaption>", id);
    sheet_escape_html(out, title);
    (void)fprintf(
        out, "</figcaption>\n<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"%s-t %s-d\">",
        width, height, width, height, id, id);
    (void)fprintf(out, "<title id=\"%s-t\">", id);
    sheet_escape_html(out, title);
    (void)fprintf(out, "</title><desc id=\"%s-d\">", id);
    sheet_escape_html(out, description);
    (void)fputs("</desc>\n", out);
}

void plot_end(FILE *out)
{
    (void)fputs("</svg></figure>\n", out);
}

/* At most `max` characters. */
void plot_text(FILE *out, double x, double y, const char *anchor, const char *class, const char *text, int max)
{
    char cut[256];
    size_t n = 0, left = strlen(text);
    int characters = 0;
    while (left > 0 && characters < max) {
        size_t size = scan_utf8(text + n, left);
        size = size > 0 ? size : 1;
        if (n + size + 4 > sizeof(cut))
            break;
        memcpy(cut + n, text + n, size);
        n += size;
        left -= size;
        characters++;
    }
    cut[n] = '\0';
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    sheet_escape_html(out, cut);
    (void)fputs(left > 0 ? "&#8230;</text>\n" : "</text>\n", out);
}

static double place(const struct plot_axis *a, double value)
{
    if (a->log2 || a->log10)
        return (log2(value) - log2(a->low)) / (log2(a->high) - log2(a->low));
    return (value - a->low) / (a->high - a->low);
}

static double x_of(const struct plot *p, double x)
{
    return LEFT + place(&p->x, x) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct plot *p, double y)
{
    return HEIGHT - BOTTOM - place(&p->y, y) * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, so that there are at most eight ticks. */
static double tick_step(const struct plot_axis *a)
{
    double raw = (a->high - a->low) / 6, power = pow(10, floor(log10(raw))), times = raw / power;
    double step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    return a->whole && step < 1 ? 1 : step;
}

static void tick_label(const struct plot_axis *a, double value, char *text, size_t size)
{
    double near = fabs(value) < 1e-9 ? 0 : value; /* sums of steps miss 0 a little */
    (void)snprintf(text, size, a->share ? "%g%%" : "%g", a->share ? 100 * near : near);
}

static void tick(const struct plot *p, FILE *out, bool is_x, double value)
{
    char text[32];
    tick_label(is_x ? &p->x : &p->y, value, text, sizeof(text));
    if (is_x) {
        double x = x_of(p, value);
        (void)fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", x, TOP, HEIGHT - BOTTOM);
        plot_text(out, x, HEIGHT - BOTTOM + 17, "middle", "tick", text, 12);
    } else {
        double y = y_of(p, value);
        (void)fprintf(out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, y, WIDTH - RIGHT);
        plot_text(out, LEFT - 7, y + 4, "end", "tick", text, 12);
    }
}

/* At powers of the base, of every second, third, ... one where there are more than eight. */
static void log_axis(const struct plot *p, FILE *out, bool is_x, const struct plot_axis *a)
{
    double base = a->log2 ? 2 : 10;
    int first = (int)ceil(log(a->low) / log(base) - 1e-9), last = (int)floor(log(a->high) / log(base) + 1e-9);
    int step = (last - first) / 8 + 1;
    for (int power = last; power >= first; power -= step)
        tick(p, out, is_x, pow(base, power));
}

static void axis(const struct plot *p, FILE *out, bool is_x)
{
    const struct plot_axis *a = is_x ? &p->x : &p->y;
    if (a->log2 || a->log10) {
        log_axis(p, out, is_x, a);
        return;
    }
    double step = tick_step(a);
    for (double v = ceil(a->low / step - 1e-9) * step; v <= a->high + step * 1e-6; v += step)
        tick(p, out, is_x, v);
}

/* Eight shapes around a point. */
static void marker(FILE *out, int index, double x, double y)
{
    static const char *const shapes[PLOT_COLOURS] = {
        "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        "m-3.5 -3.5h7v7h-7z",
        "m0 -4.6l4.4 7.8h-8.8z",
        "m0 -5l5 5l-5 5l-5 -5z",
        "m0 4.6l4.4 -7.8h-8.8z",
        "m-5 -1.2h10v2.4h-10z",
        "m-1.2 -5h2.4v10h-2.4z",
        "m-4 -2l2 -2h4l2 2v4l-2 2h-4l-2 -2z",
    };
    (void)fprintf(out, "<path class=\"mark s%d\" d=\"M%.1f %.1f%s\"/>", index % PLOT_COLOURS, x, y, shapes[index % PLOT_COLOURS]);
}

static bool is_inside(const struct plot *p, const struct plot_point *at)
{
    return isfinite(at->x) && isfinite(at->y) && at->x >= p->x.low && at->x <= p->x.high && at->y >= p->y.low &&
           at->y <= p->y.high;
}

static void series(const struct plot *p, FILE *out, int index)
{
    static const char *const dashes[] = {"", "7 3", "2 3", "9 3 2 3"};
    const struct plot_series *s = &p->series[index];
    bool pen = false;
    (void)fprintf(out, "<g><title>");
    sheet_escape_html(out, s->name);
    (void)fputs("</title>", out);
    if (s->lines) {
        (void)fprintf(out, "<path class=\"line s%d\" stroke-dasharray=\"%s\" d=\"", index % PLOT_COLOURS, dashes[index % 4]);
        for (int i = 0; i < s->n; i++) {
            bool inside = is_inside(p, &s->points[i]);
            if (inside)
                (void)fprintf(out, "%c%.1f %.1f", pen ? 'L' : 'M', x_of(p, s->points[i].x), y_of(p, s->points[i].y));
            pen = inside;
        }
        (void)fputs("\"/>", out);
    }
    for (int i = 0; i < s->n; i++)
        if (is_inside(p, &s->points[i]))
            marker(out, index, x_of(p, s->points[i].x), y_of(p, s->points[i].y));
    (void)fputs("</g>\n", out);
}

static void legend(const struct plot *p, FILE *out, int n)
{
    for (int i = 0; i < n; i++) {
        double y = TOP + 12 + 18 * i;
        marker(out, i, WIDTH - RIGHT + 18, y - 4);
        plot_text(out, WIDTH - RIGHT + 30, y, "start", "name", p->series[i].name, 22);
    }
}

void plot_print(const struct plot *p, FILE *out)
{
    int n = p->n_series < PLOT_MAX_SERIES ? p->n_series : PLOT_MAX_SERIES;
    plot_begin(out, p->id, p->title, p->description, WIDTH, HEIGHT);
    axis(p, out, true);
    axis(p, out, false);
    (void)fprintf(out, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
    plot_text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 10, "middle", "label", p->x.label, 60);
    (void)fprintf(out, "<g transform=\"rotate(-90)\">");
    plot_text(out, -(TOP + HEIGHT - BOTTOM) / 2.0, 14, "middle", "label", p->y.label, 60);
    (void)fputs("</g>\n", out);
    for (int i = 0; i < n; i++)
        series(p, out, i);
    legend(p, out, n);
    if (p->n_series > n)
        plot_text(out, WIDTH - RIGHT + 12, TOP + 12 + 18 * n, "start", "name", "more: see the table", 30);
    plot_end(out);
}
