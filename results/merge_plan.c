/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "results/merge_state.h"
#include "runtime/dtype.h"

static int add_settings(struct merge *m, struct pkb_error *err)
{
    for (size_t i = 0; i < m->plan->n_settings; i++) {
        const struct plan_setting *s = &m->plan->settings[i];
        if (digest_index_add(m->settings, s->digest, err) < 0)
            return -1;
        if (database_insert(&m->db, m->insert[TABLE_SETTINGS], err, "ittititttiiii", (int64_t)i, s->digest, s->problem->name,
                            (int64_t)s->problem->id, s->problem->family, (int64_t)s->world, dtype_name(s->dtype), s->shape,
                            s->device, (int64_t)s->trials, (int64_t)s->warmup, (int64_t)s->iterations, (int64_t)s->seed) < 0)
            return -1;
    }
    return 0;
}

static int add_candidates(struct merge *m, struct pkb_error *err)
{
    for (size_t i = 0; i < m->plan->n_candidates; i++) {
        const struct plan_candidate *c = &m->plan->candidates[i];
        if (database_insert(&m->db, m->insert[TABLE_CANDIDATES], err, "itttitt", (int64_t)i, c->digest, c->model,
                            c->problem->name, (int64_t)c->sample, c->kind, c->path) < 0)
            return -1;
    }
    return 0;
}

static int add_skips(struct merge *m, struct pkb_error *err)
{
    for (size_t i = 0; i < m->plan->n_skips; i++) {
        const struct plan_skip *s = &m->plan->skips[i];
        if (database_insert(&m->db, m->insert[TABLE_SKIPS], err, "ttiit", s->problem ? s->problem->name : NULL, s->model,
                            (int64_t)s->world, (int64_t)s->count, s->reason) < 0)
            return -1;
    }
    return 0;
}

static int index_cells(struct merge *m, struct pkb_error *err)
{
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d ? 0 : -1;
    for (size_t i = 0; i < m->plan->n_cells && rc == 0; i++) {
        char hex[PKB_DIGEST_HEX];
        rc = plan_cell_digest(m->plan, &m->plan->cells[i], d, hex, err);
        if (rc == 0)
            rc = digest_index_add(m->cells, hex, err);
        m->states[i].outcome = OUTCOME_COUNT;
    }
    pkb_digest_destroy(d);
    return rc;
}

int merge_plan_load(struct merge *m, struct pkb_error *err)
{
    m->settings = digest_index_create(m->plan->n_settings, err);
    m->cells = digest_index_create(m->plan->n_cells, err);
    m->states = calloc(m->plan->n_cells + 1, sizeof(*m->states));
    if (!m->states)
        return pkb_error_set(err, "out of memory for %zu cells", m->plan->n_cells);
    if (!m->settings || !m->cells)
        return -1;
    if (add_settings(m, err) < 0 || add_candidates(m, err) < 0 || add_skips(m, err) < 0)
        return -1;
    return index_cells(m, err);
}
