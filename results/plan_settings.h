/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a plan alone. A plan of a million cells names hundreds of thousands of candidates, which take a second to decode and
 * which figures per setting have no use for. */
#ifndef PKB_RESULTS_PLAN_SETTINGS_H
#define PKB_RESULTS_PLAN_SETTINGS_H

#include "sweeps/plan.h"

/* A plan with the settings of RUN/plan/plan.json, checked against their digests, and without anything else. The caller destroys it. NULL
 * with the error set. */
struct plan *plan_settings_load(const char *run, struct pkb_error *err);

#endif
