/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ROOM (sizeof(((struct doctor *)0)->list) / sizeof(struct doctor_finding))

static const char *const state_names[] = {[DOCTOR_OK] = "ok", [DOCTOR_NOTE] = "note", [DOCTOR_BAD] = "BAD"};

void doctor_add(struct doctor *d, enum doctor_state state, const char *subject, const char *fix, const char *fmt, ...)
{
    va_list args;
    d->bad += state == DOCTOR_BAD;
    if (d->n == ROOM)
        return;
    struct doctor_finding *f = &d->list[d->n++];
    f->state = state;
    f->subject = subject;
    f->fix = fix;
    va_start(args, fmt);
    (void)vsnprintf(f->text, sizeof(f->text), fmt, args);
    va_end(args);
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(no && no[0]);
}

void doctor_print(const struct doctor *d)
{
    static const char *const colours[] = {"\033[32m", "\033[33m", "\033[31m"};
    bool colour = wants_colour();
    for (size_t i = 0; i < d->n; i++) {
        const struct doctor_finding *f = &d->list[i];
        printf("%s%-4s%s  %-12s %s\n", colour ? colours[f->state] : "", state_names[f->state], colour ? "\033[0m" : "",
               f->subject, f->text);
        if (f->fix[0])
            printf("      %-12s -> %s\n", "", f->fix);
    }
}

json_t *doctor_json(const struct doctor *d)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < d->n; i++) {
        const struct doctor_finding *f = &d->list[i];
        json_t *text = json_string(f->text);
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s}", "state", state_names[f->state], "subject", f->subject,
                                                    "text", text ? text : json_string("(not UTF-8)"), "fix", f->fix));
    }
    return list;
}
