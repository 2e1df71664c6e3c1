/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of plan/cells: "SSSSSSSSS CCCCCCCCC\n". */
#include <string.h>

#include "sweeps/plan_parts.h"

#define DIGITS 9

static void format_number(uint32_t value, char *text)
{
    for (int i = DIGITS - 1; i >= 0; i--) {
        text[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void plan_format_cells(const struct plan_cell *cells, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++, text += PLAN_LINE) {
        format_number(cells[i].setting, text);
        text[DIGITS] = ' ';
        format_number(cells[i].candidate, text + DIGITS + 1);
        text[PLAN_LINE - 1] = '\n';
    }
}

static bool parse_number(const char *text, uint32_t *value)
{
    uint32_t n = 0;
    for (int i = 0; i < DIGITS; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        n = n * 10 + (uint32_t)(text[i] - '0');
    }
    *value = n;
    return true;
}

static int check_cell(const struct plan *p, const struct plan_cell *cell, const struct plan_cell *before, struct pkb_error *err)
{
    if (cell->setting >= p->n_settings || cell->candidate >= p->n_candidates)
        return pkb_error_set(err, "setting %u or candidate %u does not exist", cell->setting, cell->candidate);
    if (p->settings[cell->setting].problem != p->candidates[cell->candidate].problem)
        return pkb_error_set(err, "setting %u and candidate %u belong to different problems", cell->setting, cell->candidate);
    if (!before)
        return 0;
    bool later = cell->setting > before->setting || (cell->setting == before->setting && cell->candidate > before->candidate);
    return later ? 0 : pkb_error_set(err, "the cell is not behind the one before it");
}

int plan_parse_cells(const struct plan *p, const char *text, uint64_t first, size_t n, struct plan_cell *cells,
                     struct pkb_error *err)
{
    for (size_t i = 0; i < n; i++, text += PLAN_LINE) {
        bool ok = parse_number(text, &cells[i].setting) && text[DIGITS] == ' ' &&
                  parse_number(text + DIGITS + 1, &cells[i].candidate) && text[PLAN_LINE - 1] == '\n';
        if (!ok)
            pkb_error_set(err, "expected two numbers of 9 digits");
        if (!ok || check_cell(p, &cells[i], i ? &cells[i - 1] : NULL, err) < 0)
            return pkb_error_prefix(err, "cells: line %llu", (unsigned long long)(first + i + 1));
    }
    return 0;
}
