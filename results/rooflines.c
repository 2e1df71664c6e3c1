/* SPDX-License-Identifier: Apache-2.0 */
#include "results/rooflines.h"

#include <stdlib.h>
#include <string.h>

/* A setting, and its roofline on so many nodes: the cells of a setting mostly ask for the same one, and there are many. */
struct entry {
    const struct plan_setting *setting;
    int nodes; /* -1: none is known yet */
    struct roofline roofline;
};

struct rooflines {
    const struct topology *topology;
    size_t n;
    struct entry *sorted; /* by digest */
};

static int compute(const struct topology *t, const struct plan_setting *s, int nodes, struct roofline *r, struct pkb_error *err)
{
    struct problem_setting setting;
    plan_setting_for_rank(s, 0, &setting);
    return roofline_for_setting(t, &setting, nodes, r, err);
}

static void judge(const struct topology *t, const struct roofline *r, double measured_ns, struct roofline_cell *c)
{
    *c = (struct roofline_cell){.roofline = *r, .measured_ns = measured_ns};
    c->utilisation = roofline_utilisation(r, measured_ns * 1e-9);
    c->verdict = roofline_judge(t, r, measured_ns * 1e-9);
}

int roofline_for_cell(const struct topology *t, const struct plan_setting *s, int nodes, double measured_ns,
                      struct roofline_cell *c, struct pkb_error *err)
{
    struct roofline r;
    if (compute(t, s, nodes, &r, err) < 0)
        return -1;
    judge(t, &r, measured_ns, c);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->setting->digest, ((const struct entry *)b)->setting->digest);
}

struct rooflines *rooflines_create(const struct plan *plan, const struct topology *t, struct pkb_error *err)
{
    struct rooflines *r = calloc(1, sizeof(*r));
    struct entry *sorted = calloc(plan->n_settings + 1, sizeof(*sorted));
    if (!r || !sorted) {
        free(r);
        free(sorted);
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < plan->n_settings; i++)
        sorted[i] = (struct entry){.setting = &plan->settings[i], .nodes = -1};
    qsort(sorted, plan->n_settings, sizeof(*sorted), compare);
    *r = (struct rooflines){t, plan->n_settings, sorted};
    return r;
}

void rooflines_destroy(struct rooflines *r)
{
    if (r)
        free(r->sorted);
    free(r);
}

const struct topology *rooflines_topology(const struct rooflines *r)
{
    return r->topology;
}

static int compare_digest(const void *digest, const void *entry)
{
    return strcmp(digest, ((const struct entry *)entry)->setting->digest);
}

int rooflines_cell(struct rooflines *r, const char *digest, int nodes, double measured_ns, struct roofline_cell *c,
                   struct pkb_error *err)
{
    struct entry *e = bsearch(digest, r->sorted, r->n, sizeof(*r->sorted), compare_digest);
    if (!e)
        return pkb_error_set(err, "the plan has no setting %.12s", digest);
    if (e->nodes != nodes) {
        e->nodes = -1;
        if (compute(r->topology, e->setting, nodes, &e->roofline, err) < 0)
            return -1;
        e->nodes = nodes;
    }
    judge(r->topology, &e->roofline, measured_ns, c);
    return 0;
}
