/* SPDX-License-Identifier: Apache-2.0 */
#include "results/published.h"

#include <ctype.h>

const struct published published_table[] = {
    {"GPT-5.5", 28, 36, 22, 27, ""},
    {"Claude Opus 4.7", 20, 31, 12, 20, ""},
    {"Gemini 3 Pro", 24, 30, 12, 19, ""},
    {"Gemini 3 Pro (agentic)", -1, 35, -1, 26, "with feedback"},
    {"GLM-5.1", -1, -1, -1, -1, "fast1@3: 3 %"},
    {"DeepSeek V4 Pro", -1, -1, -1, -1, "fast1@3: 1 %"},
};
const int published_count = (int)(sizeof(published_table) / sizeof(published_table[0]));

static const char *next_letter(const char *p)
{
    while (*p && !isalnum((unsigned char)*p))
        p++;
    return p;
}

bool published_is(const struct published *row, const char *model)
{
    const char *a = next_letter(row->model), *b = next_letter(model);
    while (*a && *b && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a = next_letter(a + 1);
        b = next_letter(b + 1);
    }
    return !*a && !*b;
}
