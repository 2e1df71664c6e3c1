/* SPDX-License-Identifier: Apache-2.0 */
#include "results/merge_state.h"

static const char *state_name(const struct merge_cell *c, int64_t result)
{
    if (result)
        return "done";
    if (c->outcome == OUTCOME_COUNT)
        return "missing";
    return c->outcome == OUTCOME_INFRA_ERROR ? "infra_error" : "not_run";
}

static void count(struct merge_summary *s, const struct merge_cell *c, int64_t result)
{
    s->cells++;
    if (result)
        s->done++;
    else if (c->outcome == OUTCOME_COUNT)
        s->missing++;
    else if (c->outcome == OUTCOME_INFRA_ERROR)
        s->infra_error++;
    else
        s->not_run++;
}

/* The first final record of any cell with the same digest: rows of attempts are in the order in which records count. */
static int64_t shared_result(const struct merge *m, const char *hex)
{
    int64_t first = 0;
    for (uint32_t i = digest_index_find(m->cells, hex); i != DIGEST_INDEX_NONE; i = digest_index_next(m->cells, i)) {
        int64_t result = m->states[i].result;
        if (result && (!first || result < first))
            first = result;
    }
    return first;
}

static int write_cell(struct merge *m, size_t i, const char *hex, struct pkb_error *err)
{
    const struct merge_cell *c = &m->states[i];
    const struct plan_cell *planned = &m->plan->cells[i];
    int64_t result = c->result ? c->result : shared_result(m, hex);
    int64_t shared = result && !c->result;
    m->summary.shared += shared;
    count(&m->summary, c, result);
    return database_insert(&m->db, m->insert[TABLE_CELLS], err, "iiittziii", (int64_t)i, (int64_t)planned->setting,
                           (int64_t)planned->candidate, hex, state_name(c, result), result, shared, (int64_t)c->records,
                           (int64_t)c->infra_errors);
}

int merge_cells_write(struct merge *m, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    for (size_t i = 0; i < m->plan->n_cells; i++) {
        digest_index_hex(m->cells, (uint32_t)i, hex);
        if (write_cell(m, i, hex, err) < 0)
            return -1;
    }
    return 0;
}
