/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/problem_text.h"
#include "problems/problem.h"
#include "util/suggest.h"

#define MAX_PROBLEMS 256

struct choice {
    const char *words[2]; /* list, or show N */
    int n_words;
    const char *family;
    int gpus;
    bool json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'f':
        c->family = arg;
        return 0;
    case 'g':
        c->gpus = (int)option_integer(state, "--gpus", arg, 1, 4096);
        return 0;
    case 'j':
        c->json = true;
        return 0;
    case ARGP_KEY_ARG:
        if (c->n_words == 2)
            argp_error(state, "'%s' is too much", arg);
        c->words[c->n_words++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (c->n_words > 0 && strcmp(c->words[0], "list") != 0 && strcmp(c->words[0], "show") != 0)
            argp_error(state, "expected 'list' or 'show N', found '%s'", c->words[0]);
        if (c->n_words > 0 && (strcmp(c->words[0], "show") == 0) != (c->n_words == 2))
            argp_error(state, c->n_words == 2 ? "'list' takes no argument" : "'show' needs a problem: its number or name");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int check_family(const char *family, struct pkb_error *err)
{
    const char *names[MAX_PROBLEMS];
    size_t n = 0;
    for (const struct problem *const *p = problem_registry; *p && n < MAX_PROBLEMS; p++) {
        if (strcmp((*p)->family, family) == 0)
            return 0;
        names[n++] = (*p)->family;
    }
    const char *near = pkb_suggest(family, names, n);
    return pkb_error_set(err, "there is no family '%s'%s%s%s", family, near ? "; did you mean '" : "; 'pkb problems' lists them",
                         near ? near : "", near ? "'?" : "");
}

/* Whether no problem before p is of its family. */
static bool begins_family(const struct problem *const *p)
{
    for (const struct problem *const *q = problem_registry; q < p; q++)
        if (strcmp((*q)->family, (*p)->family) == 0)
            return false;
    return true;
}

static void list_family(const char *family)
{
    int width = 0;
    for (const struct problem *const *p = problem_registry; *p; p++)
        if (strcmp((*p)->family, family) == 0 && (int)strlen((*p)->name) > width)
            width = (int)strlen((*p)->name);
    printf("%s\n", family);
    for (const struct problem *const *p = problem_registry; *p; p++)
        if (strcmp((*p)->family, family) == 0)
            printf("  %-*s %s\n  %*s (%s)\n", width, (*p)->name, (*p)->summary, width, "", (*p)->origin);
}

static void list_text(const char *family)
{
    const char *gap = "";
    for (const struct problem *const *p = problem_registry; *p; p++) {
        if ((family && strcmp((*p)->family, family) != 0) || !begins_family(p))
            continue;
        printf("%s", gap);
        list_family((*p)->family);
        gap = "\n";
    }
}

static int list_json(const char *family, struct pkb_error *err)
{
    json_t *list = json_array();
    for (const struct problem *const *p = problem_registry; list && *p; p++) {
        if (family && strcmp((*p)->family, family) != 0)
            continue;
        if (json_array_append_new(list, problem_text_brief(*p)) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    int rc = list ? command_print_json(list, 1, err) : pkb_error_set(err, "out of memory");
    json_decref(list);
    return rc;
}

static int list(const struct choice *c, struct pkb_error *err)
{
    if (c->family && check_family(c->family, err) < 0)
        return command_fail(PKB_EXIT_USAGE, err);
    if (c->json)
        return list_json(c->family, err) < 0 ? command_fail(PKB_EXIT_SYSTEM, err) : PKB_EXIT_OK;
    list_text(c->family);
    return PKB_EXIT_OK;
}

static int show(const struct choice *c, struct pkb_error *err)
{
    const struct problem *p = problem_find(c->words[1], err);
    if (!p)
        return command_fail(PKB_EXIT_USAGE, err);
    int rc = c->json ? problem_text_show_json(p, c->gpus, err) : problem_text_show(p, c->gpus, err);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, err) : PKB_EXIT_OK;
}

static const struct argp_option options[] = {{"family", 'f', "F", 0, "List only this family", 0},
                                             {"gpus", 'g', "W", 0, "Show tensors and costs at this world size (default: 8)", 0},
                                             {"json", 'j', NULL, 0, "Print JSON", 0},
                                             {0}};

static const struct argp argp = {
    options,
    parse,
    "[list]\nshow N",
    "Lists the problems by family, or shows one: parameters, tensors, cost, checks and the reference's source.\v" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

int cmd_problems(int argc, char **argv)
{
    struct choice c = {.gpus = 8};
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    return c.n_words == 2 ? show(&c, &err) : list(&c, &err);
}
