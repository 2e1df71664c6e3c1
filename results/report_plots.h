/* SPDX-License-Identifier: Apache-2.0 */
/* The plots of the HTML report. */
#ifndef PKB_RESULTS_REPORT_PLOTS_H
#define PKB_RESULTS_REPORT_PLOTS_H

#include "results/report_sheets.h"

int report_plots(const struct report_data *d, const struct report_sheets *s, FILE *out, struct pkb_error *err);

#endif
