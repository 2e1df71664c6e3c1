/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/problem_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void settings_are_checked(void **state)
{
    const struct problem_rows *rows = *state;
    for (size_t i = 0; i < rows->n_settings; i++) {
        const struct setting_row *r = &rows->settings[i];
        struct problem_setting s;
        struct pkb_error err = {""};
        problem_setting_init(&s, problem_by_id(r->id), SHAPE_TINY, r->dtype, r->rank, r->world);
        if (r->name)
            assert_int_equal(problem_setting_override(&s, r->name, r->value, &err), 0);
        int rc = problem_setting_check(&s, &err);
        if (r->error ? rc != -1 || !strstr(err.text, r->error) : rc != 0)
            fail_msg("row %zu, problem %d: %d, '%s'", i, r->id, rc, err.text);
    }
}

void costs_are_those_computed_by_hand(void **state)
{
    const struct problem_rows *rows = *state;
    for (size_t i = 0; i < rows->n_costs; i++) {
        const struct cost_row *r = &rows->costs[i];
        struct problem_setting s;
        struct problem_cost c;
        problem_setting_init(&s, problem_by_id(r->id), SHAPE_TINY, PKB_BF16, r->rank, r->world);
        s.problem->cost(&s, &c);
        if (fabs(c.flops - r->flops) > 1e-6 || fabs(c.hbm_bytes - r->hbm) > 1e-6 || fabs(c.link_bytes - r->link) > 1e-6)
            fail_msg("%s, rank %d of %d: %.9g %.9g %.9g", s.problem->name, r->rank, r->world, c.flops, c.hbm_bytes, c.link_bytes);
    }
}
