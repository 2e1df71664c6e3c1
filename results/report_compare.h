/* SPDX-License-Identifier: Apache-2.0 */
/* A run beside published figures, or beside another run: docs/metrics.md, "Comparisons". */
#ifndef PKB_RESULTS_REPORT_COMPARE_H
#define PKB_RESULTS_REPORT_COMPARE_H

#include "results/report_sheets.h"

/* Adds the sheet "published". */
int report_compare_published(const struct report_data *d, struct report_sheets *s, struct pkb_error *err);

/* Adds the sheets "change_models" and "changes" (which may be empty): from run `old` to run `d`. */
int report_compare_runs(const struct report_data *d, const struct report_data *old, struct report_sheets *s,
                        struct pkb_error *err);

#endif
