/* SPDX-License-Identifier: Apache-2.0 */
/* Values of options, and arguments: what is malformed ends the program with argp's usage message. */
#ifndef PKB_ORCHESTRATOR_OPTIONS_H
#define PKB_ORCHESTRATOR_OPTIONS_H

#include <argp.h>

#include "util/words.h"

long option_integer(struct argp_state *state, const char *name, const char *text, long min, long max);
double option_number(struct argp_state *state, const char *name, const char *text, double min, double max);

/* One more of an option that may be repeated. */
void option_add(struct argp_state *state, struct words *list, const char *text);

/* Seconds of work per shard, for --shard-seconds. */
double option_shard_seconds(struct argp_state *state, const char *text);

/* For what a parser does not know: the one argument, a run directory or a sweep, which must be there. 0, or ARGP_ERR_UNKNOWN when the
 * key is something else. */
error_t option_run(int key, char *arg, struct argp_state *state, const char **run);
error_t option_sweep(int key, char *arg, struct argp_state *state, const char **sweep);

#endif
