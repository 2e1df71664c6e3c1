/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options: what is malformed ends the program with argp's usage message. */
#ifndef PKB_ORCHESTRATOR_OPTIONS_H
#define PKB_ORCHESTRATOR_OPTIONS_H

#include <argp.h>

long option_integer(struct argp_state *state, const char *name, const char *text, long min, long max);
double option_number(struct argp_state *state, const char *name, const char *text, double min, double max);

#endif
