/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/pattern.h"

#include <stdbool.h>

/* Steps of the matcher that take as long as an instruction, with a margin for the others: the limits guard, they do not account. */
#define STEPS_PER_INSTRUCTION 64

struct items {
    int loops;   /* * + - */
    int options; /* ? */
    bool scans;  /* %b, %1: one step looks at many bytes */
    size_t set;  /* bytes of the longest [set] */
};

/* The position behind the set that begins at i. */
static size_t skip_set(const char *p, size_t size, size_t i)
{
    i++;
    if (i < size && p[i] == '^')
        i++;
    if (i < size && p[i] == ']')
        i++;
    while (i < size && p[i] != ']')
        i += p[i] == '%' ? 2 : 1;
    return i < size ? i + 1 : size;
}

static struct items parse(const char *p, size_t size)
{
    struct items items = {0};
    size_t i = 0;
    while (i < size) {
        size_t end = i + 1;
        if (p[i] == '[') {
            end = skip_set(p, size, i);
            items.set = end - i > items.set ? end - i : items.set;
        } else if (p[i] == '%' && end < size) {
            items.scans |= p[end] == 'b' || (p[end] >= '0' && p[end] <= '9');
            end += p[end] == 'b' ? 3 : 1;
        } else if (p[i] == '*' || p[i] == '+' || p[i] == '-') {
            items.loops++;
        } else if (p[i] == '?') {
            items.options++;
        }
        i = end;
    }
    return items;
}

double sweep_pattern_work(const char *pattern, size_t size, size_t n)
{
    struct items items = parse(pattern, size);
    double length = (double)n + 1, steps = (double)size + 1;
    /* Ways to choose the start and the ends of all loops: at most n + k over k, for k of them. An anchor is no help: gmatch
     * and plain searches have none. */
    for (int k = 1; k <= items.loops + 1; k++)
        steps *= (length + k) / k;
    for (int k = 0; k < items.options; k++)
        steps *= 2;
    if (items.scans)
        steps *= length;
    return steps * (1 + (double)items.set / 4) / STEPS_PER_INSTRUCTION;
}
