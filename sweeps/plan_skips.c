/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "sweeps/plan_parts.h"

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static int append(struct plan *p, const struct problem *problem, const char *model, int world, uint64_t count, const char *reason,
                  struct pkb_error *err)
{
    struct plan_skip *grown = reallocarray(p->skips, p->n_skips + 1, sizeof(*grown));
    if (!grown)
        return pkb_error_set(err, "out of memory");
    p->skips = grown;
    struct plan_skip *skip = &grown[p->n_skips];
    *skip = (struct plan_skip){.problem = problem, .world = world, .count = count};
    skip->model = model ? strdup(model) : NULL;
    skip->reason = strdup(reason);
    p->n_skips++; /* plan_destroy frees what is there */
    return skip->reason && (skip->model || !model) ? 0 : pkb_error_set(err, "out of memory");
}

int plan_skip_add(struct plan *p, const struct problem *problem, const char *model, int world, uint64_t count, const char *reason,
                  struct pkb_error *err)
{
    if (count == 0)
        return 0;
    for (size_t i = p->n_skips; i > 0; i--) {
        struct plan_skip *skip = &p->skips[i - 1];
        if (skip->problem != problem || skip->world != world)
            break;
        if (same_text(skip->model, model) && strcmp(skip->reason, reason) == 0) {
            skip->count += count;
            return 0;
        }
    }
    return append(p, problem, model, world, count, reason, err);
}
