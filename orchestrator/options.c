/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/options.h"

#include <errno.h>
#include <stdlib.h>

#include "orchestrator/exit.h"

long option_integer(struct argp_state *state, const char *name, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max)
        argp_error(state, "%s: expected a whole number from %ld to %ld, found '%s'", name, min, max, text);
    return value;
}

double option_number(struct argp_state *state, const char *name, const char *text, double min, double max)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= min && value <= max))
        argp_error(state, "%s: expected a number from %g to %g, found '%s'", name, min, max, text);
    return value;
}

void option_add(struct argp_state *state, struct words *list, const char *text)
{
    if (words_add(list, NULL, "%s", text) < 0)
        argp_failure(state, PKB_EXIT_SYSTEM, 0, "out of memory");
}

double option_shard_seconds(struct argp_state *state, const char *text)
{
    return option_number(state, "--shard-seconds", text, 0.001, 1e9);
}

static error_t only_argument(int key, char *arg, struct argp_state *state, const char **only, const char *what, const char *how)
{
    switch (key) {
    case ARGP_KEY_ARG:
        if (*only)
            argp_error(state, "one %s at a time: '%s' is too many", what, arg);
        *only = arg;
        return 0;
    case ARGP_KEY_END:
        if (!*only)
            argp_error(state, "which %s? %s", what, how);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

error_t option_run(int key, char *arg, struct argp_state *state, const char **run)
{
    return only_argument(key, arg, state, run, "run", "Name its directory");
}

error_t option_sweep(int key, char *arg, struct argp_state *state, const char **sweep)
{
    return only_argument(key, arg, state, sweep, "sweep", "Name a Lua file");
}
