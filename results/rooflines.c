/* SPDX-License-Identifier: Apache-2.0 */
#include "results/rooflines.h"

#include <stdlib.h>
#include <string.h>

struct rooflines {
    const struct topology *topology;
    struct plan *plan;
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

struct rooflines *rooflines_create(const char *run, const struct topology *t, struct pkb_error *err)
{
    struct rooflines *r = calloc(1, sizeof(*r));
    if (!r) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    r->topology = t;
    r->plan = plan_load_shard(run, 0, err); /* all settings, but few cells */
    if (r->plan) {
        r->sorted = calloc(r->plan->n_settings + 1, sizeof(*r->sorted));
        if (!r->sorted)
            pkb_error_set(err, "out of memory");
    }
    if (!r->sorted) {
        rooflines_destroy(r);
        return NULL;
    }
    for (size_t i = 0; i < r->plan->n_settings; i++)
        r->sorted[i] = &r->plan->settings[i];
    qsort(r->sorted, r->plan->n_settings, sizeof(*r->sorted), compare);
    return r;
}

void rooflines_destroy(struct rooflines *r)
{
    if (!r)
        return;
    free(r->sorted);
    plan_destroy(r->plan);
    free(r);
}

static int compare_digest(const void *digest, const void *entry)
{
    return strcmp(digest, (*(const struct plan_setting *const *)entry)->digest);
}

int rooflines_cell(const struct rooflines *r, const char *digest, int nodes, double measured_ns, struct roofline_cell *c,
                   struct pkb_error *err)
{
    const struct plan_setting **found = bsearch(digest, r->sorted, r->plan->n_settings, sizeof(*r->sorted), compare_digest);
    if (!found)
        return pkb_error_set(err, "the plan has no setting %.12s", digest);
    return roofline_for_cell(r->topology, *found, nodes, measured_ns, c, err);
}
