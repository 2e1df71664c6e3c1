/* SPDX-License-Identifier: Apache-2.0 */
#include "results/report_labels.h"

#include <stdio.h>
#include <string.h>

#define OUTCOME_FIXED 25 /* mark, longest outcome, gaps */
#define FAMILY_FIXED 34  /* longest family, tasks, gaps */
#define COUNT_WIDTH 7
#define NAME_MOST 32  /* of a problem's name, */
#define NAME_LEAST 24 /* down to which it is cut where all models fit side by side then */
#define MAX_BLOCK 40

static const char *const letters[] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
                                      "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z"};
#define N_LETTERS ((int)(sizeof(letters) / sizeof(letters[0])))

const char *labels_short(const struct labels *l, int model)
{
    return l->letters ? letters[model] : l->d->models[model];
}

const char *labels_full(const struct labels *l, int model, char *text, size_t size)
{
    if (!l->letters)
        return l->d->models[model];
    (void)snprintf(text, size, "%s %s", letters[model], l->d->models[model]);
    return text;
}

static int at_most(size_t length, int limit)
{
    return length < (size_t)limit ? (int)length : limit;
}

static int name_width(const struct labels *l, int model)
{
    return l->letters ? 1 : at_most(strlen(l->d->models[model]), LABEL_MAX);
}

/* Width of a model's column, with the gap before it. */
static int column(const struct labels *l, int model, enum labels_table table)
{
    int name = name_width(l, model), cell = table == LABELS_PROBLEMS ? l->marks : COUNT_WIDTH;
    return 2 + (name > cell ? name : cell);
}

static void widen(int *width, size_t length, int limit)
{
    int n = at_most(length, limit);
    if (n > *width)
        *width = n;
}

/* problem, ranks, dtype, shape, baseline, from, time, speedup, as report_text.c lays them out. */
static int fixed_width(const struct labels *l, int *spare)
{
    const struct report_data *d = l->d;
    int name = 7, dtype = 5, shape = 5, best = 4;
    char sample[16];
    for (size_t i = 0; i < d->n_problems; i++) {
        const struct report_problem *p = &d->problems[i];
        int digits = snprintf(sample, sizeof(sample), "%d", p->best_sample);
        widen(&name, strlen(p->name), NAME_MOST);
        widen(&dtype, strlen(p->dtype), 8);
        widen(&shape, strlen(p->shape), 8);
        if (p->best_model >= 0)
            widen(&best, (size_t)(name_width(l, p->best_model) + 1 + digits), LABEL_MAX + 4);
    }
    *spare = name > NAME_LEAST ? name - NAME_LEAST : 0;
    int forms = (d->n_worlds > 1 ? 7 : 0) + (d->n_dtypes > 1 ? dtype + 2 : 0) + (d->n_shapes > 1 ? shape + 2 : 0);
    return 2 + name + forms + 10 + 2 + best + 9 + 9;
}

static int room(const struct labels *l, enum labels_table table)
{
    if (table == LABELS_PROBLEMS)
        return LINE_WIDTH - l->fixed;
    return LINE_WIDTH - (table == LABELS_OUTCOMES ? OUTCOME_FIXED : FAMILY_FIXED);
}

static int width_from(const struct labels *l, int first, enum labels_table table)
{
    int width = 0;
    for (int m = first; m < l->d->n_models; m++)
        width += column(l, m, table);
    return width;
}

int labels_block(const struct labels *l, int first, enum labels_table table)
{
    int used = column(l, first, table), end = first + 1;
    if (table == LABELS_PROBLEMS && l->d->n_models - first <= MAX_BLOCK &&
        width_from(l, first, table) <= room(l, table) + l->spare)
        return l->d->n_models;
    while (end < l->d->n_models && end - first < MAX_BLOCK && used + column(l, end, table) <= room(l, table))
        used += column(l, end++, table);
    return end;
}

void labels_init(struct labels *l, const struct report_data *d)
{
    *l = (struct labels){.d = d, .marks = 1};
    for (size_t i = 0; i < d->n_problems; i++)
        for (int m = 0; m < d->n_models; m++) {
            size_t n = d->problems[i].marks[m] ? strlen(d->problems[i].marks[m]) : 0;
            int width = n > LABELS_MAX_MARKS ? 12 : (int)n;
            l->marks = width > l->marks ? width : l->marks;
        }
    l->fixed = fixed_width(l, &l->spare);
    bool fit = d->n_models == 0 || (labels_block(l, 0, LABELS_PROBLEMS) == d->n_models &&
                                    labels_block(l, 0, LABELS_OUTCOMES) == d->n_models && room(l, LABELS_PROBLEMS) > 0);
    l->letters = !fit && d->n_models <= N_LETTERS;
    l->fixed = fixed_width(l, &l->spare);
}
