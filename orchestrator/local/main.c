/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-launch-local: starts one world of PMIx clients on this machine. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "orchestrator/local/world.h"

enum { KEY_RANKS = 'n', KEY_LOG = 'l', KEY_GRACE = 0x100, KEY_STOP, KEY_HOLD };

static int number(struct argp_state *state, const char *what, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < min || value > max)
        argp_error(state, "%s: expected a number from %ld to %ld, found '%s'", what, min, max, text);
    return (int)value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct world_spec *spec = state->input;
    switch (key) {
    case KEY_RANKS:
        spec->ranks = number(state, "--ranks", arg, 1, WORLD_MAX_RANKS);
        return 0;
    case KEY_LOG:
        spec->log_dir = arg;
        return 0;
    case KEY_GRACE:
        spec->grace_ms = number(state, "--grace", arg, 1, 3600000);
        return 0;
    case KEY_STOP:
        spec->stop_ms = number(state, "--stop", arg, 1, 3600000);
        return 0;
    case KEY_HOLD:
        spec->hold_fd = number(state, "--hold", arg, 3, 1023);
        return 0;
    case ARGP_KEY_ARGS:
        spec->argv = (const char *const *)state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        if (spec->ranks == 0 || !spec->argv)
            argp_error(state, spec->argv ? "--ranks is missing" : "the command is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"ranks", KEY_RANKS, "W", 0, "Number of processes", 0},
    {"log", KEY_LOG, "DIR", 0, "Write agent-RRR.log there: standard error of all, standard output of all but rank 0", 0},
    {"grace", KEY_GRACE, "MS", 0, "How long the others may go on after a rank ended abnormally (5000)", 0},
    {"stop", KEY_STOP, "MS", 0, "How long ranks may go on after a signal that stops the launcher (3000)", 0},
    {"hold", KEY_HOLD, "FD", 0, "An open descriptor that all ranks inherit, so that a lock on it lasts as long as they do", 0},
    {0}};

static const struct argp argp = {
    options,
    parse,
    "COMMAND [ARGUMENT...]",
    "Starts W processes of one PMIx world on this machine and waits for them. COMMAND is a path. Standard output is that of "
    "rank 0.\v"
    "Exit status: 0 when all ranks ended with 0; else that of the worst rank: 128 + N of the first that signal N ended, else the "
    "code "
    "of the first that failed; 128 + N when signal N stopped the launcher; 2 wrong usage; 120 no world could be started; 121 a "
    "rank "
    "ended without joining a world that others had joined, or without leaving it; 127 the command cannot be executed.",
    NULL,
    NULL,
    NULL};

int main(int argc, char **argv)
{
    struct world_spec spec = {0};
    struct world_result result;
    struct pkb_error err;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &spec);
    int rc = world_run(&spec, &result, &err);
    if (rc < 0)
        (void)fprintf(stderr, "pkb-launch-local: %s\n", err.text);
    else if (result.code != 0)
        (void)fprintf(stderr, "pkb-launch-local: %s\n", result.text);
    if (result.code == 0)
        return 0;
    (void)fflush(stderr);
    _exit(result.code); /* libpmix may hang or crash in its own clean-up after clients were killed */
}
