/* SPDX-License-Identifier: Apache-2.0 */
/* Sheets in markup: Markdown, LaTeX (booktabs), HTML. */
#include <string.h>

#include "results/sheet.h"

/* The length of the UTF-8 character at `p`; 0: there is none. */
#include "results/scan.h"

static bool is_number(const struct sheet *s, int column)
{
    return s->columns[column].kind != SHEET_TEXT;
}

static bool is_shown(const struct sheet *s, int column)
{
    return s->columns[column].use == SHEET_EVERYWHERE;
}

/* Calls `put` for every character but control characters and what is not UTF-8, which become '?'. */
typedef void put_fn(FILE *out, const char *character, size_t size);

static void escape(FILE *out, const char *text, put_fn *put)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t n = scan_utf8(text, left);
        bool control = (unsigned char)*text < 0x20 || *text == 0x7f;
        if (n == 0 || control)
            put(out, control && (*text == '\n' || *text == '\t') ? " " : "?", 1);
        else
            put(out, text, n);
        n = n > 0 ? n : 1;
        text += n;
        left -= n;
    }
}

/* ---- Markdown ---------------------------------------------------------------------------------------------------------- */

static void put_markdown(FILE *out, const char *c, size_t size)
{
    if (size == 1 && *c == '<')
        (void)fputs("&lt;", out);
    else if (size == 1 && *c == '>')
        (void)fputs("&gt;", out);
    else if (size == 1 && *c == '&')
        (void)fputs("&amp;", out);
    else {
        if (size == 1 && strchr("\\`*_{}[]()#|~!$@", *c))
            (void)fputc('\\', out);
        (void)fwrite(c, 1, size, out);
    }
}

void sheet_escape_markdown(FILE *out, const char *text)
{
    escape(out, text, put_markdown);
}

int sheet_print_markdown(const struct sheet *s, FILE *out, struct pkb_error *err)
{
    char buffer[64];
    if (sheet_check(s, err) < 0)
        return -1;
    (void)fputs("\n## ", out);
    sheet_escape_markdown(out, s->title);
    (void)fputs("\n\n|", out);
    for (int c = 0; c < s->n_columns; c++)
        if (is_shown(s, c)) {
            (void)fputc(' ', out);
            sheet_escape_markdown(out, s->columns[c].title);
            (void)fputs(" |", out);
        }
    (void)fputs("\n|", out);
    for (int c = 0; c < s->n_columns; c++)
        if (is_shown(s, c))
            (void)fputs(is_number(s, c) ? " ---: |" : " --- |", out);
    (void)fputc('\n', out);
    for (size_t r = 0; r < sheet_rows(s); r++) {
        (void)fputc('|', out);
        for (int c = 0; c < s->n_columns; c++)
            if (is_shown(s, c)) {
                (void)fputc(' ', out);
                sheet_escape_markdown(out, sheet_show(s, sheet_at(s, r, c), c, buffer, sizeof(buffer)));
                (void)fputs(" |", out);
            }
        (void)fputc('\n', out);
    }
    if (s->note[0]) {
        (void)fputc('\n', out);
        sheet_escape_markdown(out, s->note);
        (void)fputc('\n', out);
    }
    return 0;
}

/* ---- LaTeX -------------------------------------------------------------------------------------------------------------- */

static void put_latex(FILE *out, const char *c, size_t size)
{
    static const struct {
        char c;
        const char *tex;
    } special[] = {
        {'\\', "\\textbackslash{}"},
        {'{', "\\{"},
        {'}', "\\}"},
        {'$', "\\$"},
        {'&', "\\&"},
        {'#', "\\#"},
        {'%', "\\%"},
        {'_', "\\_"},
        {'^', "\\textasciicircum{}"},
        {'~', "\\textasciitilde{}"},
        {'<', "\\textless{}"},
        {'>', "\\textgreater{}"},
        {'|', "\\textbar{}"},
        {'"', "\\textquotedbl{}"},
        {'\'', "\\textquotesingle{}"},
        {'`', "\\textasciigrave{}"},
    };
    for (size_t i = 0; size == 1 && i < sizeof(special) / sizeof(special[0]); i++)
        if (*c == special[i].c) {
            (void)fputs(special[i].tex, out);
            return;
        }
    if (size == 1)
        (void)fputc(*c, out);
    else
        (void)fputc('?', out); /* so that every engine and font sets it */
}

/* "->" as an arrow, everything else as it is. */
void sheet_escape_latex(FILE *out, const char *text)
{
    const char *arrow = strstr(text, " -> ");
    char before[256];
    if (!arrow || (size_t)(arrow - text) >= sizeof(before)) {
        escape(out, text, put_latex);
        return;
    }
    memcpy(before, text, (size_t)(arrow - text));
    before[arrow - text] = '\0';
    escape(out, before, put_latex);
    (void)fputs(" $\\rightarrow$ ", out);
    escape(out, arrow + 4, put_latex);
}

static void latex_row(const struct sheet *s, FILE *out, long row)
{
    char buffer[64];
    bool first = true;
    for (int c = 0; c < s->n_columns; c++) {
        if (!is_shown(s, c))
            continue;
        (void)fputs(first ? "" : " & ", out);
        sheet_escape_latex(out,
                           row < 0 ? s->columns[c].title : sheet_show(s, sheet_at(s, (size_t)row, c), c, buffer, sizeof(buffer)));
        first = false;
    }
    (void)fputs(" \\\\\n", out);
}

int sheet_print_latex(const struct sheet *s, FILE *out, struct pkb_error *err)
{
    if (sheet_check(s, err) < 0)
        return -1;
    (void)fputs("\\begin{table}\n\\centering\n\\caption{", out);
    sheet_escape_latex(out, s->title);
    (void)fputs(". ", out);
    sheet_escape_latex(out, s->note);
    (void)fprintf(out, "}\n\\label{tab:pkb-%s}\n\\begin{tabular}{", s->name);
    for (int c = 0; c < s->n_columns; c++)
        if (is_shown(s, c))
            (void)fputc(is_number(s, c) ? 'r' : 'l', out);
    (void)fputs("}\n\\toprule\n", out);
    latex_row(s, out, -1);
    (void)fputs("\\midrule\n", out);
    for (size_t r = 0; r < sheet_rows(s); r++)
        latex_row(s, out, (long)r);
    (void)fputs("\\bottomrule\n\\end{tabular}\n\\end{table}\n\n", out);
    return 0;
}

/* ---- HTML --------------------------------------------------------------------------------------------------------------- */

static void put_html(FILE *out, const char *c, size_t size)
{
    static const char specials[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    const char *at = size == 1 ? strchr(specials, *c) : NULL;
    if (at && *c)
        (void)fputs(entities[at - specials], out);
    else
        (void)fwrite(c, 1, size, out);
}

void sheet_escape_html(FILE *out, const char *text)
{
    escape(out, text, put_html);
}

static void html_head(const struct sheet *s, FILE *out)
{
    (void)fputs("<thead><tr>", out);
    for (int c = 0; c < s->n_columns; c++) {
        if (!is_shown(s, c))
            continue;
        (void)fprintf(out, "<th scope=\"col\"%s>", is_number(s, c) ? " class=\"n\"" : "");
        sheet_escape_html(out, s->columns[c].title);
        (void)fputs("</th>", out);
    }
    (void)fputs("</tr></thead>\n", out);
}

/* data-v is what the column is sorted by; unknown values have none and stay at the end. */
static void html_cell(const struct sheet *s, FILE *out, size_t row, int column, bool first)
{
    static const char *const tones[] = {"", "good", "fair", "bad", "faint"};
    const struct sheet_value *v = sheet_at(s, row, column);
    char buffer[64];
    bool number = is_number(s, column);
    (void)fprintf(out, first ? "<th scope=\"row\" class=\"%s%s\"" : "<td class=\"%s%s\"", number ? "n " : "", tones[v->tone]);
    if (number && v->known)
        (void)fprintf(out, " data-v=\"%.9g\"", v->number);
    (void)fputc('>', out);
    sheet_escape_html(out, sheet_show(s, v, column, buffer, sizeof(buffer)));
    (void)fputs(first ? "</th>" : "</td>", out);
}

int sheet_print_html(const struct sheet *s, FILE *out, struct pkb_error *err)
{
    if (sheet_check(s, err) < 0)
        return -1;
    (void)fprintf(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    sheet_escape_html(out, s->title);
    (void)fprintf(out, "\"><table class=\"sortable\" id=\"t-%s\">\n<caption>", s->name);
    sheet_escape_html(out, s->title);
    if (s->note[0]) {
        (void)fputs("<span class=\"note\">", out);
        sheet_escape_html(out, s->note);
        (void)fputs("</span>", out);
    }
    (void)fputs("</caption>\n", out);
    html_head(s, out);
    (void)fputs("<tbody>\n", out);
    for (size_t r = 0; r < sheet_rows(s); r++) {
        bool first = true;
        (void)fputs("<tr>", out);
        for (int c = 0; c < s->n_columns; c++) {
            if (!is_shown(s, c))
                continue;
            html_cell(s, out, r, c, first);
            first = false;
        }
        (void)fputs("</tr>\n", out);
    }
    (void)fputs("</tbody></table></div>\n", out);
    return 0;
}
