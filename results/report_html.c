/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one HTML file: nothing is loaded from elsewhere; the script only sorts tables. */
#include <string.h>

#include "results/report_plots.h"

static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c2024;--soft:#5c6670;--line:#d5dae0;--zebra:#f5f7f9;--accent:#0b62b0;"
    "--good:#0a6b36;--fair:#8a5a00;--bad:#b3261e;--heat:#0b62b0;--ink:#1c2024;"
    "--s0:#0b62b0;--s1:#c2500a;--s2:#0a7d57;--s3:#a8377e;--s4:#6d4fc2;--s5:#8a6d00;--s6:#007a8a;--s7:#5c6670}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e9ec;--soft:#9aa5b0;--line:#343b43;--zebra:#1b1f24;"
    "--accent:#6db3f2;--good:#5fd08f;--fair:#e2b14d;--bad:#ff8a80;--heat:#4f9fe6;--ink:#101214;"
    "--s0:#6db3f2;--s1:#f39a5b;--s2:#4fcf9f;--s3:#ea86c4;--s4:#b49cff;--s5:#dcc04a;--s6:#54cfdd;--s7:#aab4bd}}\n"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1400px;padding:1.5rem 1.25rem "
    "4rem;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}\n"
    "h1{font-size:1.6rem;margin:0 0 .3rem;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2.2rem 0 .8rem;border-bottom:1px "
    "solid "
    "var(--line);padding-bottom:.25rem}p{margin:.4rem 0;max-width:75ch}.soft{color:var(--soft)}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:1rem 0}a{color:var(--accent)}\n"
    ".cards{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0;padding:0;list-style:none}.cards li{border:1px solid "
    "var(--line);"
    "border-radius:8px;padding:.5rem .9rem;min-width:8.5rem}.cards b{display:block;font-size:1.35rem;line-height:1.25}"
    ".cards .bad b{color:var(--bad)}\n"
    ".scroll{overflow-x:auto;margin:1rem 0 1.6rem}.scroll:focus-visible{outline:2px solid var(--accent)}"
    "table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:600;padding:.2rem 0 .5rem;font-size:.98rem}caption .note{display:block;font-weight:400;"
    "color:var(--soft);font-size:.85rem;max-width:min(85ch,calc(100vw - 2.5rem))}\n"
    "th,td{padding:.28rem .7rem;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}"
    "td{max-width:46ch;overflow:hidden;text-overflow:ellipsis}tbody "
    "th{position:sticky;left:0;background:var(--bg);font-weight:500;max-width:40ch;overflow:hidden;"
    "text-overflow:ellipsis}thead th{border-bottom:2px solid var(--soft);font-weight:600;vertical-align:bottom}"
    "tbody tr:nth-child(even),tbody tr:nth-child(even) th{background:var(--zebra)}.n{text-align:right}"
    "#t-not_counted td,#t-not_counted th{white-space:normal;min-width:9ch;overflow-wrap:anywhere}"
    "#t-problems td,#t-problems th{padding:.28rem .45rem}#t-problems td{font-family:ui-monospace,'DejaVu Sans Mono',monospace}\n"
    ".good{color:var(--good)}.fair{color:var(--fair)}.bad{color:var(--bad)}.faint{color:var(--soft)}\n"
    "thead button{all:unset;cursor:pointer;font:inherit}thead button:focus-visible{outline:2px solid var(--accent)}"
    "thead button::after{content:'\\2195';color:var(--soft);opacity:.55;padding-left:.3em;font-size:.8em}"
    "th[aria-sort=ascending] button::after{content:'\\2191';opacity:1}th[aria-sort=descending] button::after{content:'\\2193';"
    "opacity:1}\n"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));gap:1.2rem}"
    "figure{margin:0;min-width:0}figcaption{font-weight:600;font-size:.95rem;margin-bottom:.3rem}svg{max-width:100%;height:auto;"
    "display:block}svg text{fill:var(--fg);font-size:12.5px}svg .tick{fill:var(--soft);font-size:12px}svg "
    ".label{fill:var(--soft)}"
    "svg "
    ".inside{fill:var(--ink);font-size:11.5px;font-weight:600}.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--soft);"
    "fill:none}.line{fill:none;stroke-width:2;stroke-linejoin:round}.mark{stroke:var(--bg);stroke-width:.8}.heat{fill:var(--heat)"
    "}\n"
    ".s0{stroke:var(--s0)}.s1{stroke:var(--s1)}.s2{stroke:var(--s2)}.s3{stroke:var(--s3)}.s4{stroke:var(--s4)}.s5{stroke:var(--"
    "s5)}"
    ".s6{stroke:var(--s6)}.s7{stroke:var(--s7)}.mark.s0{fill:var(--s0)}.mark.s1{fill:var(--s1)}.mark.s2{fill:var(--s2)}"
    ".mark.s3{fill:var(--s3)}.mark.s4{fill:var(--s4)}.mark.s5{fill:var(--s5)}.mark.s6{fill:var(--s6)}.mark.s7{fill:var(--s7)}"
    ".mark{stroke:var(--bg)!important}\n"
    /* correct; build and load; while running; wrong results; not the candidate's */
    ".bar{stroke:var(--bg);stroke-width:1}.o0{fill:#5bbf87}.o1{fill:#b5d96c}.o2{fill:#d8e6a8}.o3{fill:#c9b3f0}.o4{fill:#b49ae6}"
    ".o5{fill:#f2b27a}.o6{fill:#ee9a62}.o7{fill:#f4c79c}.o8{fill:#f0a3a3}.o9{fill:#f5c0d8}.o10{fill:#ea86a8}.o11{fill:#e06c75}"
    ".o12{fill:#a9c7e8}.o13{fill:#c4d3e0}.o14{fill:#d9dde1}svg .inside{fill:#16191c}\n"
    "@media print{:root{color-scheme:light}body{max-width:none;font-size:10pt;padding:0}nav,thead button::after{display:none}"
    ".scroll{overflow:visible}figure,tr{break-inside:avoid}h2{break-after:avoid}thead{display:table-header-group}}\n";

/* Clicking a header sorts by it: numbers by data-v, texts by the locale; what is not known stays at the end. */
static const char script[] =
    "'use strict';\n"
    "for (const table of document.querySelectorAll('table.sortable')) {\n"
    "  const body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);\n"
    "  heads.forEach((head, column) => {\n"
    "    const button = document.createElement('button');\n"
    "    button.type = 'button';\n"
    "    button.append(...head.childNodes);\n"
    "    head.append(button);\n"
    "    button.addEventListener('click', () => {\n"
    "      const up = head.getAttribute('aria-sort') !== 'ascending', sign = up ? 1 : -1;\n"
    "      heads.forEach(other => other.removeAttribute('aria-sort'));\n"
    "      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');\n"
    "      const number = head.classList.contains('n');\n"
    "      const key = row => { const cell = row.cells[column];\n"
    "        return number ? (cell.dataset.v === undefined ? NaN : Number(cell.dataset.v)) : cell.textContent; };\n"
    "      const order = (a, b) => { const x = key(a), y = key(b);\n"
    "        if (!number) return sign * x.localeCompare(y, undefined, {numeric: true});\n"
    "        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);\n"
    "        return sign * (x - y); };\n"
    "      body.append(...Array.from(body.rows).sort(order));\n"
    "    });\n"
    "  });\n"
    "}\n";

static void card(FILE *out, const char *what, int64_t n, bool bad)
{
    (void)fprintf(out, "<li%s><b>%lld</b>%s</li>\n", bad && n > 0 ? " class=\"bad\"" : "", (long long)n, what);
}

static void head(const struct report_data *d, FILE *out)
{
    const struct merge_summary *s = &d->summary;
    const char *name = d->name[0] ? d->name : "(unnamed)";
    (void)fputs(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
        out);
    sheet_escape_html(out, name);
    (void)fprintf(out, " - pkb report</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>Run ", style);
    sheet_escape_html(out, name);
    (void)fprintf(
        out,
        "</h1>\n<p class=\"soft\">%lld of %lld planned cells have a result. Fast means correct and more than %g times as fast "
        "as the reference. Nothing that is missing counts as solved or as failed.</p>\n",
        (long long)s->done, (long long)s->cells, d->p);
    if (d->environment[0]) {
        (void)fputs("<p class=\"soft\">Measured with ", out);
        sheet_escape_html(out, d->environment);
        (void)fputs(".</p>\n", out);
    }
    (void)fputs("<ul class=\"cards\">\n", out);
    card(out, "problems", d->n_problems_named, false);
    card(out, d->n_models == 1 ? "model" : "models", d->n_models, false);
    card(out, "cells", s->cells, false);
    card(out, "missing", s->missing + s->not_run, true);
    card(out, "infra errors", s->infra_error, true);
    (void)fputs("</ul>\n</header>\n", out);
}

/* Tables of the summary stand before the plots. */
static bool is_summary(const struct sheet *s)
{
    static const char *const names[] = {"paper", "published", "change_models", "models"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(s->name, names[i]) == 0)
            return true;
    return false;
}

static int tables(const struct report_sheets *s, bool summary, FILE *out, struct pkb_error *err)
{
    for (int i = 0; i < s->n; i++)
        if (is_summary(s->items[i]) == summary && sheet_print_html(s->items[i], out, err) < 0)
            return -1;
    return 0;
}

static void contents(const struct report_sheets *s, FILE *out)
{
    (void)fputs("<nav aria-label=\"Contents\"><a href=\"#plots\">Plots</a>\n", out);
    for (int i = 0; i < s->n; i++) {
        (void)fprintf(out, "<a href=\"#t-%s\">", s->items[i]->name);
        sheet_escape_html(out, s->items[i]->title);
        (void)fputs("</a>\n", out);
    }
    (void)fputs("</nav>\n", out);
}

int report_html(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err)
{
    head(d, out);
    contents(s, out);
    (void)fputs("<main>\n<h2>Summary</h2>\n", out);
    if (tables(s, true, out, err) < 0)
        return -1;
    (void)fputs("<h2 id=\"plots\">Plots</h2>\n<div class=\"plots\">\n", out);
    if (report_plots(d, s, out, err) < 0)
        return -1;
    (void)fputs("</div>\n<h2>Tables</h2>\n", out);
    if (tables(s, false, out, err) < 0)
        return -1;
    (void)fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", script);
    return 0;
}
