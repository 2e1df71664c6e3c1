/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps from anybody: the sandbox holds, limits end loops, nothing is leaked. */
#include <stdint.h>

#include "sweeps/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pkb_error err;
    struct sweep *s = sweep_load_text("/nonexistent/fuzz.lua", (const char *)data, size, &err);
    if (s && s->has_where && s->n_problems > 0) {
        struct sweep_cell cell = {
            .problem = s->problems[0], .model = "m", .shape = "tiny", .device = "host", .sample = 1, .world = 1};
        bool keep;
        (void)sweep_where(s, &cell, &keep, &err);
    }
    sweep_destroy(s);
    return 0;
}
