/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of plan/cells: "SSSSSSSSS CCCCCCCCC\n". */
#include <string.h>

#include "sweeps/digits.h"
#include "sweeps/plan_parts.h"

#define DIGITS 9

void plan_format_cells(const struct plan_cell *cells, size_t n, char *text)
{
    for (size_t i = 0; i < n; i++, text += PLAN_LINE) {
        digits_format(cells[i].setting, DIGITS, text);
        text[DIGITS] = ' ';
        digits_format(cells[i].candidate, DIGITS, text + DIGITS + 1);
        text[PLAN_LINE - 1] = '\n';
    }
}

static int parse_line(const char *text, struct plan_cell *cell, struct pkb_error *err)
{
    uint64_t setting, candidate;
    if (!digits_parse(text, DIGITS, &setting) || text[DIGITS] != ' ' || !digits_parse(text + DIGITS + 1, DIGITS, &candidate) ||
        text[PLAN_LINE - 1] != '\n')
        return pkb_error_set(err, "expected two numbers of 9 digits");
    *cell = (struct plan_cell){(uint32_t)setting, (uint32_t)candidate};
    return 0;
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
        if (parse_line(text, &cells[i], err) < 0 || check_cell(p, &cells[i], i ? &cells[i - 1] : NULL, err) < 0)
            return pkb_error_prefix(err, "cells: line %llu", (unsigned long long)(first + i + 1));
    }
    return 0;
}
