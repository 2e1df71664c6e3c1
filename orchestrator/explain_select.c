/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/explain_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fewer digits are too likely to be a mistake. */
#define LEAST_DIGITS 6

static bool is_digest(const char *text)
{
    size_t n = strlen(text);
    return n >= LEAST_DIGITS && n < PKB_DIGEST_HEX && strspn(text, "0123456789abcdef") == n;
}

static int parse_number(struct explain_selector *s, const char *text, struct pkb_error *err)
{
    char *end;
    errno = 0;
    s->by = EXPLAIN_BY_NUMBER;
    s->number = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9')
        return pkb_error_set(err, "cell '#%s': a number follows '#'", text);
    return 0;
}

/* Cuts s->text at the separators. */
static int parse_name(struct explain_selector *s, struct pkb_error *err)
{
    char *first = strchr(s->text, '/'), *second = first ? strchr(first + 1, '/') : NULL;
    char *at = second ? strchr(second + 1, '@') : NULL;
    s->by = EXPLAIN_BY_NAME;
    if (!second || strchr(second + 1, '/'))
        return pkb_error_set(
            err,
            "cell '%s': expected MODEL/PROBLEM/SAMPLE[@RANKS] (shell patterns are allowed), #NUMBER, or %d or more "
            "digits of a cell's digest",
            s->text, LEAST_DIGITS);
    *first = *second = '\0';
    if (at)
        *at = '\0';
    s->model = s->text;
    s->problem = first + 1;
    s->sample = second + 1;
    s->ranks = at ? at + 1 : NULL;
    return 0;
}

int explain_select_parse(struct explain_selector *s, const char *pattern, struct pkb_error *err)
{
    *s = (struct explain_selector){0};
    if (strlen(pattern) >= sizeof(s->text))
        return pkb_error_set(err, "cell: the name is longer than %zu bytes", sizeof(s->text) - 1);
    (void)snprintf(s->text, sizeof(s->text), "%s", pattern);
    if (pattern[0] == '#')
        return parse_number(s, s->text + 1, err);
    if (!is_digest(pattern))
        return parse_name(s, err);
    s->by = EXPLAIN_BY_DIGEST;
    s->digest = s->text;
    return 0;
}

static bool fits(const char *pattern, const char *text)
{
    return fnmatch(pattern, text, 0) == 0;
}

static bool fits_number(const char *pattern, int number)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "%d", number);
    return fits(pattern, text);
}

static bool fits_name(const struct explain_selector *s, const struct plan_setting *setting, const struct plan_candidate *k)
{
    bool problem = fits(s->problem, setting->problem->name) || problem_by_name(s->problem) == setting->problem;
    return problem && fits(s->model, k->model) && fits_number(s->sample, k->sample) &&
           (!s->ranks || fits_number(s->ranks, setting->world));
}

bool explain_select_matches(const struct explain_selector *s, const struct plan *p, uint64_t number,
                            const char digest[PKB_DIGEST_HEX])
{
    const struct plan_cell *cell = &p->cells[number];
    if (s->by == EXPLAIN_BY_NUMBER)
        return number == s->number;
    if (s->by == EXPLAIN_BY_DIGEST)
        return strncmp(digest, s->digest, strlen(s->digest)) == 0;
    return fits_name(s, &p->settings[cell->setting], &p->candidates[cell->candidate]);
}
