/* SPDX-License-Identifier: Apache-2.0 */
/* A census as a record of evidence, for people and programs. */
#include <stdio.h>
#include <string.h>

#include "results/census.h"

const char *mechanism_name(enum mechanism m)
{
    static const char *const names[] = {"copy_engine", "peer", "tma", "multimem", "nccl"};
    return names[m];
}

bool census_uses(const struct census *c, enum mechanism m)
{
    return c->found[m].line > 0;
}

void census_note(struct census *c, enum mechanism m, const char *word, size_t size, int line, bool sass)
{
    struct census_evidence *e = &c->found[m];
    if (e->line > 0)
        return;
    e->line = line;
    e->sass = sass;
    size_t n = size < sizeof(e->word) ? size : sizeof(e->word) - 1;
    for (size_t i = 0; i < n; i++)
        e->word[i] = word[i] > ' ' && word[i] < 0x7f ? word[i] : '?';
    e->word[n] = '\0';
}

void census_describe(const struct census *c, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int m = 0; m < MECHANISM_COUNT && used < size; m++)
        if (census_uses(c, (enum mechanism)m))
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", mechanism_name((enum mechanism)m));
    if (!c->device_code && used < size)
        used += (size_t)snprintf(text + used, size - used, "%shost_only", used > 0 ? ", " : "");
    if (used == 0)
        (void)snprintf(text, size, "none");
}

json_t *census_encode(const struct census *c)
{
    json_t *names = json_array(), *evidence = json_object();
    int rc = names && evidence ? 0 : -1;
    for (int m = 0; m < MECHANISM_COUNT && rc == 0; m++) {
        const struct census_evidence *e = &c->found[m];
        const char *name = mechanism_name((enum mechanism)m);
        if (e->line == 0)
            continue;
        rc = json_array_append_new(names, json_string(name));
        if (rc == 0)
            rc = json_object_set_new(
                evidence, name,
                json_pack("{s:s, s:i, s:s}", "word", e->word, "line", e->line, "in", e->sass ? "sass" : "source"));
    }
    if (rc == 0)
        return json_pack("{s:o, s:b, s:o}", "mechanisms", names, "host_only", !c->device_code, "evidence", evidence);
    json_decref(names);
    json_decref(evidence);
    return NULL;
}
