/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/options.h"

#include <errno.h>
#include <stdlib.h>

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
