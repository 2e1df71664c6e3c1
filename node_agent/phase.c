/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/phase.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/process.h"

#define FDS (RUNNER_POLLFDS + 2)

/* The state of one phase. */
struct follow {
    struct agent *a;
    struct phase *p;
    struct runner *runner;
    int64_t sent;
    int64_t queue_before;
    bool waiting;  /* for the reply: this rank has submitted */
    bool exited;   /* ... an EXIT */
    bool finished; /* the round has decided the phase */
    bool done;     /* ... that all have done it */
    struct decision *d;
};

static struct rounds *rounds_of(const struct follow *f)
{
    return f->a->world->rounds;
}

static int lost(struct follow *f, struct pkb_error *err)
{
    return agent_end(f->a, AGENT_EXIT_LOST, err, NULL);
}

static int submit(struct follow *f, enum round_kind kind, const void *data, size_t size, struct pkb_error *err)
{
    f->waiting = true;
    f->exited = kind == ROUND_EXIT;
    return rounds_submit(rounds_of(f), kind, data, size, err) < 0 ? lost(f, err) : 0;
}

static double elapsed(const struct follow *f)
{
    return (double)(pkb_now_ns() - f->p->started) / 1e9;
}

static int submit_report(struct follow *f, enum round_kind kind, struct exit_report *x, struct pkb_error *err)
{
    x->seconds = elapsed(f);
    if (f->runner)
        runner_output(f->runner, x->output, sizeof(x->output));
    char *text = exit_report_encode(x);
    if (!text)
        return agent_end(f->a, AGENT_EXIT_FAILED, err, "report: out of memory");
    int rc = submit(f, kind, text, strlen(text), err);
    free(text);
    return rc;
}

/* ---- what the runner does -------------------------------------------------------------------------------------------- */

/* Kills the runner and reports that. */
static int give_up(struct follow *f, enum round_kind kind, enum outcome outcome, const char *detail, struct pkb_error *err)
{
    struct exit_report x = {.outcome = outcome};
    struct runner_end end = {0};
    if (f->runner) {
        runner_kill(f->runner);
        runner_end(f->runner, &end);
    }
    (void)snprintf(x.detail, sizeof(x.detail), "%s", detail);
    (void)snprintf(x.stage, sizeof(x.stage), "%s", end.stage);
    x.refused = end.refused;
    return submit_report(f, kind, &x, err);
}

static int on_exchange(struct follow *f, const json_t *value, struct pkb_error *err)
{
    struct pkb_error why;
    void *blob;
    size_t size;
    if (f->waiting)
        return give_up(f, ROUND_EXIT, OUTCOME_TAMPERING, "asked for an exchange at the wrong time", err);
    if (protocol_hex_decode(value, PROTOCOL_MAX_BLOB, &blob, &size, &why) < 0)
        return give_up(f, ROUND_EXIT, OUTCOME_TAMPERING, why.text, err);
    int rc = submit(f, ROUND_EXCHANGE, blob, size, err);
    free(blob);
    return rc;
}

static int on_done(struct follow *f, const json_t *message, struct pkb_error *err)
{
    struct pkb_error why;
    const char *word = json_string_value(json_object_get(message, "did"));
    void *data = NULL;
    size_t size = 0;
    f->p->wall_ns = (double)(pkb_now_ns() - f->sent);
    int64_t after = process_queue_wait(runner_pid(f->runner));
    f->p->queue_ns = after < 0 || f->queue_before < 0 ? -1 : (double)(after - f->queue_before);
    if (f->waiting || f->p->ends || !word || strcmp(word, json_string_value(json_object_get(f->p->command, "do"))) != 0)
        return give_up(f, ROUND_EXIT, OUTCOME_TAMPERING, "answered a command that was not given", err);
    if (f->p->answer && f->p->answer(f->p, message, &data, &size, &why) < 0)
        return give_up(f, ROUND_EXIT, OUTCOME_TAMPERING, why.text, err);
    int rc = submit(f, ROUND_DONE, data, size, err);
    free(data);
    return rc;
}

/* What a runner may say about itself. Everything else is for its agent to see. */
static bool may_claim(int outcome)
{
    return outcome == OUTCOME_LOAD_ERROR || outcome == OUTCOME_RUNTIME_ERROR || outcome == OUTCOME_OUT_OF_MEMORY ||
           outcome == OUTCOME_SHAPE_MISMATCH || outcome == OUTCOME_INFRA_ERROR;
}

static int on_failed(struct follow *f, const json_t *message, const char *name, struct pkb_error *err)
{
    const char *detail = json_string_value(json_object_get(message, "detail"));
    int outcome = outcome_parse(name);
    if (!may_claim(outcome))
        return give_up(f, ROUND_EXIT, OUTCOME_TAMPERING, "reported an outcome that is not its to report", err);
    return give_up(f, ROUND_EXIT, (enum outcome)outcome, detail ? detail : "(no detail)", err);
}

static int on_message(struct follow *f, const json_t *message, struct pkb_error *err)
{
    const char *failed = json_string_value(json_object_get(message, "failed"));
    const json_t *exchange = json_object_get(message, "exchange");
    if (failed)
        return on_failed(f, message, failed, err);
    return exchange ? on_exchange(f, exchange, err) : on_done(f, message, err);
}

static int on_end(struct follow *f, struct pkb_error *err)
{
    struct runner_end end;
    struct exit_report x = {0};
    runner_end(f->runner, &end);
    if (f->p->ends && !f->waiting && !end.broken && WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0)
        return submit(f, ROUND_DONE, NULL, 0, err);
    if (f->waiting && f->p->ends)
        return 0;
    exit_report_from_end(&end, &x);
    return submit_report(f, ROUND_EXIT, &x, err);
}

/* One event of the runner. 1: there was one, 0: none, -1: the attempt ends. */
static int runner_step(struct follow *f, struct pkb_error *err)
{
    json_t *message = NULL;
    if (!f->runner || f->exited)
        return 0;
    enum runner_event event = runner_progress(f->runner, &message);
    int rc = 0;
    if (event == RUNNER_MESSAGE)
        rc = on_message(f, message, err);
    else if (event != RUNNER_QUIET)
        rc = on_end(f, err);
    json_decref(message);
    return rc < 0 ? -1 : event != RUNNER_QUIET;
}

/* ---- what the others do ---------------------------------------------------------------------------------------------- */

static int answer_exchange(struct follow *f, struct pkb_error *err)
{
    struct pkb_error why;
    json_t *all = json_array();
    for (int i = 0; i < f->a->world->world; i++) {
        const struct round_entry *e = rounds_entry(rounds_of(f), i);
        (void)json_array_append_new(all, protocol_hex_encode(e->data, e->size));
    }
    json_t *message = json_pack("{s:o}", "all", all);
    int rc = message ? runner_send(f->runner, message, &why) : pkb_error_set(&why, "exchange: out of memory");
    json_decref(message);
    return rc < 0 ? give_up(f, ROUND_EXIT, OUTCOME_RUNTIME_ERROR, why.text, err) : 0;
}

static int on_reply(struct follow *f, struct pkb_error *err)
{
    bool exited = f->exited;
    f->waiting = f->exited = false;
    enum round_result result = decide_phase(rounds_of(f), f->a->world->world, f->a->world->hosts, f->d);
    if (result == ROUND_CONTINUES && exited) {
        /* The runner's end came too late for the round: it counts in the next one. */
        struct runner_end end;
        struct exit_report x = {0};
        runner_end(f->runner, &end);
        exit_report_from_end(&end, &x);
        return submit_report(f, ROUND_EXIT, &x, err);
    }
    if (result == ROUND_CONTINUES)
        return answer_exchange(f, err);
    f->finished = true;
    f->done = result == ROUND_FINISHED;
    if (!f->done && f->runner)
        runner_kill(f->runner);
    return 0;
}

static int rounds_step(struct follow *f, struct pkb_error *err)
{
    int event = rounds_progress(rounds_of(f), err);
    if (event < 0)
        return lost(f, err);
    if (event == ROUNDS_REPLY && on_reply(f, err) < 0)
        return -1;
    if (event == ROUNDS_INTERRUPT && !f->waiting && give_up(f, ROUND_ABORTED, OUTCOME_NOT_RUN, "", err) < 0)
        return -1;
    return event != ROUNDS_NONE;
}

/* ---- the loop -------------------------------------------------------------------------------------------------------- */

static int64_t deadline_of(const struct phase *p)
{
    return p->started + (int64_t)(p->limit_seconds * 1e9);
}

/* The time is up: also for a runner that waits for others, whose own agents see to them. 1: it was submitted, 0: it is not up. */
static int check_deadline(struct follow *f, struct pkb_error *err)
{
    if (f->waiting || pkb_now_ns() < deadline_of(f->p))
        return 0;
    return give_up(f, ROUND_EXIT, OUTCOME_DEADLOCK, "over the time limit", err) < 0 ? -1 : 1;
}

static int wait_for_event(struct follow *f, struct pkb_error *err)
{
    struct pollfd fds[FDS];
    int64_t left = f->waiting ? -1 : (deadline_of(f->p) - pkb_now_ns()) / 1000000 + 1;
    fds[0] = rounds_pollfd(rounds_of(f));
    fds[1] = (struct pollfd){.fd = f->a->signal_fd, .events = POLLIN};
    if (f->runner && !f->exited)
        runner_pollfds(f->runner, fds + 2);
    else
        for (int i = 2; i < FDS; i++)
            fds[i] = (struct pollfd){.fd = -1};
    if (!f->waiting && left < 0)
        left = 0;
    if (left > INT32_MAX)
        left = INT32_MAX;
    if (poll(fds, FDS, (int)left) < 0 && errno != EINTR)
        return agent_end(f->a, AGENT_EXIT_FAILED, err, "poll failed");
    return fds[1].revents ? agent_signals(f->a, err) : 0;
}

/* Handles everything that is there, then waits for more. */
static int turn(struct follow *f, struct pkb_error *err)
{
    int more = rounds_step(f, err);
    if (more < 0 || f->finished)
        return more < 0 ? -1 : 0;
    int event = runner_step(f, err);
    int late = event < 0 ? -1 : check_deadline(f, err);
    if (late < 0)
        return -1;
    /* What was submitted may be answered at once, without any descriptor to wait for: in a world of one rank. */
    return more || event || late ? 0 : wait_for_event(f, err);
}

static int begin(struct follow *f, const char *why, struct pkb_error *err)
{
    struct pkb_error text;
    if (!f->runner)
        return give_up(f, ROUND_EXIT, OUTCOME_INFRA_ERROR, why ? why : "no runner", err);
    if (!runner_alive(f->runner))
        return on_end(f, err); /* since the last phase */
    f->queue_before = process_queue_wait(runner_pid(f->runner));
    f->sent = pkb_now_ns();
    if (runner_send(f->runner, f->p->command, &text) < 0)
        return give_up(f, ROUND_EXIT, OUTCOME_INFRA_ERROR, text.text, err);
    return 0;
}

int phase_run(struct agent *a, struct phase *p, struct runner *runner, const char *why, struct decision *d, struct pkb_error *err)
{
    struct follow f = {.a = a, .p = p, .runner = runner, .d = d};
    int rc = begin(&f, why, err);
    while (rc == 0 && !f.finished)
        rc = turn(&f, err);
    return rc < 0 ? -1 : f.done;
}
