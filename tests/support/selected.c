/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/selected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PROBLEMS 128

/* Marks the problem of a word; -1 when there is none. */
static int mark(const char *word, size_t length, bool *wanted, struct pkb_error *err)
{
    char name[128];
    if (length >= sizeof(name))
        return pkb_error_set(err, "a name of %zu characters is no problem's", length);
    memcpy(name, word, length);
    name[length] = '\0';
    const struct problem *p = problem_by_name(name);
    for (int i = 0; p && problem_registry[i]; i++)
        wanted[i] = wanted[i] || problem_registry[i] == p;
    return p ? 0 : pkb_error_set(err, "there is no problem '%s'", name);
}

static int mark_all(const char *names, bool *wanted, struct pkb_error *err)
{
    const char *at = names + strspn(names, " ");
    if (*at == '\0')
        return pkb_error_set(err, "no problem is named");
    while (*at != '\0') {
        size_t length = strcspn(at, " ");
        if (mark(at, length, wanted, err) < 0)
            return -1;
        at += length;
        at += strspn(at, " ");
    }
    return 0;
}

int selected_parse(const char *names, const struct problem **list, struct pkb_error *err)
{
    bool wanted[MAX_PROBLEMS] = {false};
    int n = 0;
    if (names && mark_all(names, wanted, err) < 0)
        return -1;
    for (int i = 0; problem_registry[i]; i++) {
        if (!names || wanted[i])
            list[n++] = problem_registry[i];
    }
    list[n] = NULL;
    return 0;
}

static void select_or_exit(const struct problem **list)
{
    struct pkb_error err = {""};
    if (selected_parse(getenv(SELECTED_VARIABLE), list, &err) == 0)
        return;
    fprintf(stderr, "%s: %s\n", SELECTED_VARIABLE, err.text);
    exit(1);
}

const struct problem *const *selected_problems(void)
{
    static const struct problem *list[MAX_PROBLEMS];
    select_or_exit(list);
    return list;
}

static bool lists(const char *families, const char *family)
{
    size_t length = strlen(family);
    for (const char *at = families; (at = strstr(at, family)); at += length) {
        if ((at == families || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

const struct problem *const *selected_of(const char *families)
{
    static const struct problem *list[MAX_PROBLEMS];
    bool others = families[0] == '!';
    int n = 0;
    select_or_exit(list);
    for (int i = 0; list[i]; i++) {
        if (lists(families + others, list[i]->family) != others)
            list[n++] = list[i];
    }
    list[n] = NULL;
    return list;
}
