/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "results/record.h"

static const char *const names[OUTCOME_COUNT] = {
    [OUTCOME_CORRECT] = "correct",
    [OUTCOME_COMPILE_ERROR] = "compile_error",
    [OUTCOME_LOAD_ERROR] = "load_error",
    [OUTCOME_RUNTIME_ERROR] = "runtime_error",
    [OUTCOME_CRASH] = "crash",
    [OUTCOME_OUT_OF_MEMORY] = "out_of_memory",
    [OUTCOME_DEADLOCK] = "deadlock",
    [OUTCOME_SHAPE_MISMATCH] = "shape_mismatch",
    [OUTCOME_VALUE_MISMATCH] = "value_mismatch",
    [OUTCOME_TAMPERING] = "tampering",
    [OUTCOME_INFRA_ERROR] = "infra_error",
    [OUTCOME_NOT_RUN] = "not_run",
};

const char *outcome_name(enum outcome o)
{
    return (unsigned)o < OUTCOME_COUNT ? names[o] : "unknown";
}

int outcome_parse(const char *name)
{
    for (int o = 0; o < OUTCOME_COUNT; o++)
        if (strcmp(names[o], name) == 0)
            return o;
    return -1;
}

bool outcome_is_final(enum outcome o)
{
    return (unsigned)o < OUTCOME_COUNT && o != OUTCOME_INFRA_ERROR && o != OUTCOME_NOT_RUN;
}
