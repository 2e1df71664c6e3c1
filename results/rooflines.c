/* SPDX-License-Identifier: Apache-2.0 */
#include "results/rooflines.h"

#include <stdlib.h>
#include <string.h>

struct rooflines {
    const struct topology *topology;
    size_t n;
    const struct plan_setting **sorted; /* by digest */
};

int roofline_for_cell(const struct topology *t, const struct plan_setting *s, int nodes, double measured_ns,
                      struct roofline_cell *c, struct pkb_error *err)
{
    struct problem_setting setting;
    memset(c, 0, sizeof(*c));
    plan_setting_for_rank(s, 0, &setting);
    if (roofline_for_setting(t, &setting, nodes, &c->roofline, err) < 0)
        return -1;
    c->measured_ns = measured_ns;
    c->utilisation = roofline_utilisation(&c->roofline, measured_ns * 1e-9);
    c->verdict = roofline_judge(t, &c->roofline, measured_ns * 1e-9);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp((*(const struct plan_setting *const *)a)->digest, (*(const struct plan_setting *const *)b)->digest);
}

struct rooflines *rooflines_create(const struct plan *plan, const struct topology *t, struct pkb_error *err)
{
    struct rooflines *r = calloc(1, sizeof(*r));
    const struct plan_setting **sorted = calloc(plan->n_settings + 1, sizeof(*sorted));
    if (!r || !sorted) {
        free(r);
        free(sorted);
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < plan->n_settings; i++)
        sorted[i] = &plan->settings[i];
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
    return strcmp(digest, (*(const struct plan_setting *const *)entry)->digest);
}

int rooflines_cell(const struct rooflines *r, const char *digest, int nodes, double measured_ns, struct roofline_cell *c,
                   struct pkb_error *err)
{
    const struct plan_setting **found = bsearch(digest, r->sorted, r->n, sizeof(*r->sorted), compare_digest);
    if (!found)
        return pkb_error_set(err, "the plan has no setting %.12s", digest);
    return roofline_for_cell(r->topology, *found, nodes, measured_ns, c, err);
}
