/* SPDX-License-Identifier: Apache-2.0 */
/* pkb watch: the status of a run again and again, until nobody works on it any more. */
#include <argp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/status.h"
#include "orchestrator/stop.h"

/* Seconds between two looks: each reads all records and asks Slurm. */
#define DEFAULT_INTERVAL 2.0
#define LEAST_INTERVAL 0.1
#define MOST_INTERVAL 3600.0

/* Top left, and erase what is below. */
#define CLEAR "\033[H\033[2J"

struct choice {
    const char *run;
    double interval; /* s */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'n':
        c->interval = option_number(state, "--interval", arg, LEAST_INTERVAL, MOST_INTERVAL);
        return 0;
    default:
        return option_run(key, arg, state, &c->run);
    }
}

static const struct argp_option options[] = {{"interval", 'n', "SECONDS", 0, "Between two looks (default: 2)", 0}, {0}};

static const struct argp argp = {
    options,
    parse,
    "RUN",
    "Shows the status of a run again and again until it is done or nobody works on it. On a terminal it is redrawn in place; "
    "elsewhere "
    "a new one follows when something has changed. Ctrl-C ends the watching, not the run.\v" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

static bool terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && (!term || strcmp(term, "dumb") != 0);
}

/* What a plain output is repeated for. */
struct seen {
    bool any;
    uint64_t final;
    size_t pending, running;
};

static void show(const struct status *s, struct seen *seen)
{
    struct seen now = {true, s->progress->final, s->queue.pending, s->queue.running};
    bool redraw = terminal();
    if (!redraw && seen->any && now.final == seen->final && now.pending == seen->pending && now.running == seen->running)
        return;
    printf("%s", redraw ? CLEAR : seen->any ? "\n" : "");
    status_print(s);
    (void)fflush(stdout);
    *seen = now;
}

/* One look: whether it was the last, and the exit code so far. */
static bool look(const char *run, struct seen *seen, int *code, struct pkb_error *err)
{
    static struct status s;
    *code = status_read(&s, run, err);
    bool last = true;
    if (*code == PKB_EXIT_OK) {
        bool done = s.progress->final == s.plan->n_cells;
        show(&s, seen);
        last = done || !s.driven;
        *code = done ? PKB_EXIT_OK : PKB_EXIT_INCOMPLETE;
    }
    status_clear(&s);
    return last;
}

int cmd_watch(int argc, char **argv)
{
    struct choice c = {.interval = DEFAULT_INTERVAL};
    struct stop stop = STOP_NONE;
    struct seen seen = {0};
    struct pkb_error err;
    int code = PKB_EXIT_OK;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    if (stop_open(&stop, &err) < 0)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    while (!look(c.run, &seen, &code, &err) && !stop_asked(&stop)) {
        struct pollfd p = {.fd = stop.fd, .events = POLLIN};
        (void)poll(&p, 1, (int)(c.interval * 1000));
    }
    stop_close(&stop);
    if (code == PKB_EXIT_USAGE || code == PKB_EXIT_SYSTEM)
        return command_fail((enum pkb_exit)code, &err);
    return stop.count ? PKB_EXIT_INTERRUPTED : code;
}
