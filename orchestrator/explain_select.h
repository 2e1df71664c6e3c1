/* SPDX-License-Identifier: Apache-2.0 */
/* Names of cells, as people give them. */
#ifndef PKB_ORCHESTRATOR_EXPLAIN_SELECT_H
#define PKB_ORCHESTRATOR_EXPLAIN_SELECT_H

#include "sweeps/plan.h"

enum explain_by { EXPLAIN_BY_DIGEST, EXPLAIN_BY_NUMBER, EXPLAIN_BY_NAME };

struct explain_selector {
    enum explain_by by;
    uint64_t number;
    char text[512]; /* a copy of the pattern; the following point into it */
    const char *digest, *model, *problem, *sample;
    const char *ranks; /* NULL: any */
};

/* explain.h says what a pattern may be. 0, or -1 with the error set. */
int explain_select_parse(struct explain_selector *s, const char *pattern, struct pkb_error *err);

/* Whether it names cell number `number` of the plan. */
bool explain_select_matches(const struct explain_selector *s, const struct plan *p, uint64_t number,
                            const char digest[PKB_DIGEST_HEX]);

#endif
