/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "node_agent/command.h"
#include "node_agent/store.h"
#include "util/file.h"

/* ---- which cells ----------------------------------------------------------------------------------------------------- */

static int parse_number(const char **p, uint64_t *number, struct pkb_error *err)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(*p, &end, 10);
    if (**p < '0' || **p > '9' || errno != 0)
        return pkb_error_set(err, "cells: expected a number at '%s'", *p);
    *p = end;
    *number = value;
    return 0;
}

int selection_parse(const char *list, uint64_t first, size_t n, bool *wanted, struct pkb_error *err)
{
    const char *p = list;
    memset(wanted, 0, n * sizeof(*wanted));
    for (;;) {
        uint64_t from, to;
        if (parse_number(&p, &from, err) < 0)
            return -1;
        to = from;
        if (*p == '-') {
            p++;
            if (parse_number(&p, &to, err) < 0)
                return -1;
        }
        if (from > to || from < first || to >= first + n)
            return pkb_error_set(err, "cells: %llu-%llu is not within this shard's cells %llu-%llu", (unsigned long long)from,
                                 (unsigned long long)to, (unsigned long long)first, (unsigned long long)(first + n - 1));
        for (uint64_t i = from; i <= to; i++)
            wanted[i - first] = true;
        if (*p == '\0')
            return 0;
        if (*p++ != ',')
            return pkb_error_set(err, "cells: expected a comma at '%s'", p - 1);
    }
}

static int apply_option(struct agent *a, struct selection *s, struct pkb_error *err)
{
    const char *list = a->options.cells;
    if (!list || strcmp(list, "all") == 0)
        return 0;
    bool *wanted = calloc(a->plan->n_cells + 1, sizeof(*wanted));
    int rc = wanted ? selection_parse(list, a->plan->first_cell, a->plan->n_cells, wanted, err) : pkb_error_errno(err, "cells");
    for (size_t i = 0; rc == 0 && i < a->plan->n_cells; i++)
        s->skip[i] = s->skip[i] || !wanted[i];
    free(wanted);
    return rc < 0 ? agent_end(a, AGENT_EXIT_USAGE, err, NULL) : 0;
}

int selection_open(struct agent *a, struct selection *s, struct pkb_error *err)
{
    *s = (struct selection){.skip = calloc(a->plan->n_cells + 1, sizeof(bool))};
    if (!s->skip)
        return agent_end(a, AGENT_EXIT_FAILED, err, "cells: out of memory");
    return store_load_done(a, s->skip, err) < 0 ? -1 : apply_option(a, s, err);
}

void selection_close(struct selection *s)
{
    free(s->skip);
    build_toolchain_destroy(s->toolchain);
    *s = (struct selection){0};
}

/* ---- builds ---------------------------------------------------------------------------------------------------------- */

static int build(struct agent *a, struct selection *s, const struct plan_candidate *c, struct build_result *b,
                 struct pkb_error *err)
{
    if (s->toolchain && strcmp(s->toolchain->kind, c->kind) != 0) {
        build_toolchain_destroy(s->toolchain);
        s->toolchain = NULL;
    }
    if (!s->toolchain)
        s->toolchain = build_toolchain_find(c->kind, err);
    char *source = s->toolchain ? pkb_format(err, "%s/candidates/%s.%s", a->options.run, c->digest, c->kind) : NULL;
    int rc = source ? build_candidate(a->build_cache, s->toolchain, source, c->digest, b, err) : -1;
    free(source);
    return rc;
}

/* ---- which iterations ------------------------------------------------------------------------------------------------ */

static int below(uint32_t n, uint32_t *number, struct pkb_error *err)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits))
        return pkb_error_errno(err, "getrandom");
    *number = (uint32_t)(bits % n);
    return 0;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Distinct iterations that a candidate cannot know (Floyd's algorithm). */
static int pick_samples(const struct plan_setting *s, struct cell_task *task, struct pkb_error *err)
{
    int n = command_samples(s);
    for (int k = s->iterations - n; k < s->iterations; k++) {
        uint32_t pick = 0;
        if (below((uint32_t)k + 1, &pick, err) < 0)
            return -1;
        for (int i = 0; i < task->n_samples; i++)
            if (task->sample[i] == (int)pick)
                pick = (uint32_t)k;
        task->sample[task->n_samples++] = (int)pick;
    }
    qsort(task->sample, (size_t)task->n_samples, sizeof(task->sample[0]), compare);
    return 0;
}

/* ---- the next cell --------------------------------------------------------------------------------------------------- */

/* 1: the cell can be run, 0: it has been recorded, -1: the attempt ends. */
static int prepare(struct agent *a, struct selection *s, size_t cell, struct cell_task *task, struct pkb_error *err)
{
    const struct plan_candidate *c = &a->plan->candidates[a->plan->cells[cell].candidate];
    struct build_result b = {0};
    struct pkb_error why;
    if (build(a, s, c, &b, &why) < 0) {
        pkb_error_prefix(&why, "cannot build the candidate");
        return cell_record_unrun(a, cell, OUTCOME_INFRA_ERROR, -1, why.text, 0, err);
    }
    if (b.status == BUILD_COMPILE_ERROR)
        return cell_record_unrun(a, cell, OUTCOME_COMPILE_ERROR, -1, b.detail, b.seconds, err);
    *task = (struct cell_task){.cell = cell, .object = strdup(b.object), .build_seconds = b.seconds};
    if (task->object && pick_samples(&a->plan->settings[a->plan->cells[cell].setting], task, err) == 0)
        return 1;
    free(task->object);
    return agent_end(a, AGENT_EXIT_FAILED, err, "cell: out of memory or of random numbers");
}

int selection_next(struct agent *a, struct selection *s, struct cell_task *task, struct pkb_error *err)
{
    int rc = 0;
    while (rc == 0 && s->next < a->plan->n_cells) {
        size_t cell = s->next++;
        if (s->skip[cell])
            continue;
        rc = store_check_lease(a, err) < 0 ? -1 : prepare(a, s, cell, task, err);
    }
    return rc;
}
