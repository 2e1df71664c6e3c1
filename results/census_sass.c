/* SPDX-License-Identifier: Apache-2.0 */
/* What the instructions of a listing say. */
#include <ctype.h>
#include <string.h>

#include "results/census.h"

/* The first word of an instruction: behind its address and predicate. NULL: the line holds none. */
static const char *instruction(const char *line, const char *end, size_t *size)
{
    const char *p = line;
    while (p < end && isspace((unsigned char)*p))
        p++;
    if (end - p < 4 || p[0] != '/' || p[1] != '*' || !isxdigit((unsigned char)p[2]))
        return NULL;
    p = memmem(p, (size_t)(end - p), "*/", 2);
    for (p = p ? p + 2 : end; p < end && isspace((unsigned char)*p); p++)
        continue;
    if (p < end && *p == '@') {
        while (p < end && !isspace((unsigned char)*p))
            p++;
        while (p < end && isspace((unsigned char)*p))
            p++;
    }
    const char *start = p;
    while (p < end && (isalnum((unsigned char)*p) || *p == '.' || *p == '_'))
        p++;
    *size = (size_t)(p - start);
    return *size > 0 && isupper((unsigned char)*start) ? start : NULL;
}

static bool is_opcode(const char *word, size_t size, const char *opcode)
{
    size_t n = strlen(opcode);
    return size >= n && memcmp(word, opcode, n) == 0 && (size == n || word[n] == '.');
}

/* Instructions that only one mechanism uses. Loads and stores of system scope are none: volatile variables make them too. */
static void read_instruction(struct census *c, const char *word, size_t size, int line)
{
    static const char *const bulk[] = {"UBLKCP", "UBLKRED", "UTMALDG", "UTMASTG", "UTMAREDG"};
    c->device_code = true;
    for (size_t i = 0; i < sizeof(bulk) / sizeof(bulk[0]); i++)
        if (is_opcode(word, size, bulk[i]))
            census_note(c, MECHANISM_TMA, word, size, line, true);
    if (is_opcode(word, size, "LDGMC"))
        census_note(c, MECHANISM_MULTIMEM, word, size, line, true);
}

void census_sass(const char *text, size_t size, struct census *c)
{
    const char *end = text + size;
    int number = 1;
    for (const char *line = text; line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        size_t n;
        const char *word = instruction(line, stop, &n);
        if (word)
            read_instruction(c, word, n, number);
        line = stop + (stop < end);
    }
}
