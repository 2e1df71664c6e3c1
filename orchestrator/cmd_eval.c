/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/eval.h"
#include "orchestrator/options.h"
#include "results/record.h"
#include "util/suggest.h"

enum {
    KEY_PROBLEM = 'p',
    KEY_CANDIDATE = 'c',
    KEY_GPUS = 'g',
    KEY_SET = 's',
    KEY_SHAPE = 0x100,
    KEY_DTYPE,
    KEY_DEVICE,
    KEY_TRIALS,
    KEY_WARMUP,
    KEY_ITERATIONS,
    KEY_SECONDS,
    KEY_MEMORY,
    KEY_KEEP,
    KEY_CACHE,
};

/* One of a few words. */
static const char *word(struct argp_state *state, const char *option, const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0)
            return words[i];
    const char *near = pkb_suggest(text, words, n);
    argp_error(state, "%s: '%s' is not known%s%s%s", option, text, near ? "; did you mean '" : "", near ? near : "",
               near ? "'?" : "");
    return NULL;
}

static error_t parse_setting(int key, char *arg, struct argp_state *state)
{
    static const char *const shapes[] = {"tiny", "paper"}, *const devices[] = {"host", "cuda"};
    static const char *const dtypes[] = {"bf16", "f16", "f32", "f64"};
    struct eval_request *r = state->input;
    switch (key) {
    case KEY_GPUS:
        r->gpus = (int)option_integer(state, "--gpus", arg, 1, 1024);
        return 0;
    case KEY_SHAPE:
        r->shape = word(state, "--shape", arg, shapes, 2);
        return 0;
    case KEY_SET:
        if (r->n_set == PROBLEM_MAX_PARAMS)
            argp_error(state, "--set: a problem has at most %d parameters", PROBLEM_MAX_PARAMS);
        r->set[r->n_set++] = arg;
        return 0;
    case KEY_DTYPE:
        r->dtype = word(state, "--dtype", arg, dtypes, 4);
        return 0;
    case KEY_DEVICE:
        r->device = word(state, "--device", arg, devices, 2);
        return 0;
    case KEY_TRIALS:
        r->trials = (int)option_integer(state, "--trials", arg, 1, 1000);
        return 0;
    case KEY_WARMUP:
        r->warmup = (int)option_integer(state, "--warmup", arg, 0, 1000000);
        return 0;
    case KEY_ITERATIONS:
        r->iterations = (int)option_integer(state, "--iterations", arg, 1, 1000000);
        return 0;
    case KEY_SECONDS:
        r->limit_seconds = option_number(state, "--limit-seconds", arg, 0.001, 86400);
        return 0;
    case KEY_MEMORY:
        r->limit_memory_mb = option_integer(state, "--limit-memory-mb", arg, 0, 1L << 30);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct eval_request *r = state->input;
    switch (key) {
    case KEY_PROBLEM:
        r->problem = arg;
        return 0;
    case KEY_CANDIDATE:
        r->candidate = arg;
        return 0;
    case KEY_KEEP:
        r->keep = arg;
        return 0;
    case KEY_CACHE:
        r->build_cache = arg;
        return 0;
    case 'j':
        r->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        return 0;
    case ARGP_KEY_END:
        if (!r->problem || !r->candidate)
            argp_error(state, "%s is missing", r->problem ? "--candidate" : "--problem");
        return 0;
    default:
        return parse_setting(key, arg, state);
    }
}

static const struct argp_option options[] = {
    {"problem", KEY_PROBLEM, "P", 0, "The problem: its number or name", 0},
    {"candidate", KEY_CANDIDATE, "FILE", 0, "The candidate's source", 0},
    {"gpus", KEY_GPUS, "W", 0, "World size (default: 2)", 1},
    {"shape", KEY_SHAPE, "NAME", 0, "tiny (default) or paper", 1},
    {"set", KEY_SET, "NAME=VALUE", 0,
     "A parameter that differs from the shape's, as 'pkb problems show' names it; repeat it for more", 1},
    {"dtype", KEY_DTYPE, "T", 0, "bf16 (default), f16, f32, f64", 1},
    {"device", KEY_DEVICE, "NAME", 0, "host (default) or cuda", 1},
    {"trials", KEY_TRIALS, "N", 0, "Checks with fresh inputs (default: 5)", 1},
    {"warmup", KEY_WARMUP, "N", 0, "Untimed iterations (default: 5)", 1},
    {"iterations", KEY_ITERATIONS, "N", 0, "Timed iterations (default: 20)", 1},
    {"limit-seconds", KEY_SECONDS, "S", 0, "Wall clock (default: 60)", 1},
    {"limit-memory-mb", KEY_MEMORY, "MB", 0, "Address space of a runner (default: 8192; 0: unlimited)", 1},
    {"keep", KEY_KEEP, "DIR", 0, "Make the run directory there and keep it", 2},
    {"build-cache", KEY_CACHE, "DIR", 0, "Compiled candidates, shared between calls", 2},
    {"json", 'j', NULL, 0, "Print the record and the end of the log as JSON", 2},
    {0}};

static const struct argp argp = {
    options,
    parse,
    "-p PROBLEM -c FILE",
    "Evaluates one candidate of one problem and prints the verdict: outcome, detail, times, speedup, and "
    "what the compiler or the candidate said.\v" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

static int verdict(const struct engine *e, const json_t *result)
{
    const char *outcome = json_string_value(json_object_get(json_object_get(result, "record"), "outcome"));
    if (e->code != PKB_EXIT_OK && e->code != PKB_EXIT_INCOMPLETE)
        return e->code;
    int o = outcome ? outcome_parse(outcome) : -1;
    if (o < 0 || !outcome_is_final((enum outcome)o))
        return PKB_EXIT_SYSTEM; /* says nothing about the candidate */
    return o == OUTCOME_CORRECT ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
}

static int report(struct engine *e, const struct eval_request *r)
{
    struct pkb_error err;
    json_t *result = eval_result(e, r, &err);
    if (!result)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    int rc = 0;
    int code = verdict(e, result);
    (void)json_object_set_new(result, "exit", json_integer(code));
    if (r->json)
        rc = command_print_json(result, 1, &err);
    else if (e->run)
        eval_print(result, r);
    json_decref(result);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, &err) : code;
}

int cmd_eval(int argc, char **argv)
{
    static const struct engine_stage stages[] = {
        {"load", engine_load}, {"plan", engine_plan},   {"create", engine_create},     {"lock", engine_lock},
        {"read", engine_read}, {"build", engine_build}, {"evaluate", engine_evaluate}, {NULL, NULL},
    };
    struct eval_request r = {.gpus = 2,
                             .shape = "tiny",
                             .dtype = "bf16",
                             .device = "host",
                             .trials = 5,
                             .warmup = 5,
                             .iterations = 20,
                             .limit_seconds = 60,
                             .limit_memory_mb = 8192};
    struct eval_place place;
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &r);
    int code = eval_prepare(&r, &place, &err);
    if (code != PKB_EXIT_OK) {
        eval_remove(&place);
        return command_fail((enum pkb_exit)code, &err);
    }
    struct engine_options o = {
        .sweep = place.sweep, .run = place.run, .build_cache = r.build_cache, .quiet = true, .argc = argc, .argv = argv};
    struct engine e;
    engine_init(&e, &o);
    (void)engine_go(&e, stages);
    code = report(&e, &r);
    engine_destroy(&e);
    eval_remove(&place);
    return code;
}
