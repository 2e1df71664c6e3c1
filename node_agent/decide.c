/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/decide.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "util/json.h"

/* ---- one runner's end ------------------------------------------------------------------------------------------------ */

static const char *signal_name(int s)
{
    const char *name = sigabbrev_np(s);
    return name ? name : "?";
}

static void report_signal(const struct runner_end *end, struct exit_report *x)
{
    int s = WTERMSIG(end->status);
    if (s == SIGKILL && end->oom_killer) {
        x->outcome = OUTCOME_OUT_OF_MEMORY;
        (void)snprintf(x->detail, sizeof(x->detail), "killed %s by the system, which had run out of memory", end->stage);
        return;
    }
    x->killed = s == SIGKILL || s == SIGTERM || s == SIGINT || s == SIGHUP; /* all of which launchers send to runners too */
    x->outcome = OUTCOME_CRASH;
    (void)snprintf(x->detail, sizeof(x->detail), "killed by signal %d (SIG%s, %s) %s", s, signal_name(s), strsignal(s),
                   end->stage);
}

void exit_report_from_end(const struct runner_end *end, struct exit_report *x)
{
    (void)snprintf(x->stage, sizeof(x->stage), "%s", end->stage);
    x->refused = end->refused;
    if (end->broken) {
        x->outcome = OUTCOME_TAMPERING;
        (void)snprintf(x->detail, sizeof(x->detail), "%.400s", end->text);
    } else if (WIFSIGNALED(end->status)) {
        report_signal(end, x);
    } else {
        x->outcome = OUTCOME_RUNTIME_ERROR;
        (void)snprintf(x->detail, sizeof(x->detail), "exited with code %d %s%s", WEXITSTATUS(end->status),
                       end->inside && strncmp(end->stage, "in ", 3) == 0 ? "inside" : end->stage,
                       end->inside && strncmp(end->stage, "in ", 3) == 0 ? end->stage + 2 : "");
    }
}

/* Texts come from runners and may be cut anywhere: ASCII is what always is valid JSON. */
static void make_ascii(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 127 || ((unsigned char)*text < 32 && *text != '\n' && *text != '\t'))
            *text = '?';
}

char *exit_report_encode(const struct exit_report *report)
{
    struct exit_report x = *report;
    make_ascii(x.detail);
    make_ascii(x.stage);
    make_ascii(x.output);
    json_t *value = json_pack("{s:s, s:b, s:b, s:f, s:s, s:s, s:s}", "outcome", outcome_name(x.outcome), "refused", x.refused,
                              "killed", x.killed, "seconds", x.seconds, "detail", x.detail, "stage", x.stage, "output", x.output);
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

static void copy_member(const json_t *object, const char *key, char *to, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    (void)snprintf(to, size, "%s", text ? text : "");
}

/* What a peer's agent sent. Agents are of one build and run no foreign code, so a missing member is read as empty. */
static void exit_report_decode(const struct round_entry *e, struct exit_report *x)
{
    json_t *object = pkb_json_parse((const char *)e->data, e->size, NULL);
    const char *name = json_string_value(json_object_get(object, "outcome"));
    int outcome = name ? outcome_parse(name) : -1;
    x->outcome = outcome < 0 ? OUTCOME_INFRA_ERROR : (enum outcome)outcome;
    x->refused = json_is_true(json_object_get(object, "refused"));
    x->killed = json_is_true(json_object_get(object, "killed"));
    x->seconds = json_number_value(json_object_get(object, "seconds"));
    copy_member(object, "detail", x->detail, sizeof(x->detail));
    copy_member(object, "stage", x->stage, sizeof(x->stage));
    copy_member(object, "output", x->output, sizeof(x->output));
    json_decref(object);
}

/* ---- texts about several ranks --------------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->data + t->used, t->size - t->used, fmt, args);
    va_end(args);
    if (n > 0)
        t->used = t->used + (size_t)n < t->size ? t->used + (size_t)n : t->size - 1;
}

/* Where a rank was in a round that ended in a deadlock. */
static void where(const struct rounds *r, int rank, char *stage, size_t size)
{
    const struct round_entry *e = rounds_entry(r, rank);
    struct exit_report x;
    if (e->kind == ROUND_EXCHANGE) {
        (void)snprintf(stage, size, "waiting in symm_alloc for the others");
    } else if (e->kind == ROUND_DONE) {
        (void)snprintf(stage, size, "finished");
    } else {
        exit_report_decode(e, &x);
        (void)snprintf(stage, size, "%s", x.stage);
    }
}

/* "rank 2 (n1)" or "ranks 0,1,3" for those whose stage is that of `first`; marks them. Returns how many. */
static int add_group(struct text *t, const struct rounds *r, int world, char *const *hosts, int first, bool *told)
{
    char stage[128], other[128];
    int n = 0;
    where(r, first, stage, sizeof(stage));
    for (int i = first; i < world; i++) {
        where(r, i, other, sizeof(other));
        if (told[i] || strcmp(stage, other) != 0)
            continue;
        told[i] = true;
        n++;
    }
    add(t, "%s", n == 1 ? "rank " : "ranks ");
    bool comma = false;
    for (int i = first; i < world; i++) {
        where(r, i, other, sizeof(other));
        if (strcmp(stage, other) == 0) {
            add(t, "%s%d", comma ? "," : "", i);
            comma = true;
        }
    }
    if (n == 1)
        add(t, " (%s)", hosts[first]);
    add(t, " %s", stage);
    return n;
}

/* Says for every rank where it was. */
static void add_places(struct text *t, const struct rounds *r, int world, char *const *hosts, int first)
{
    bool *told = calloc((size_t)world, sizeof(*told));
    if (!told)
        return;
    (void)add_group(t, r, world, hosts, first, told);
    for (int i = 0; i < world; i++) {
        if (told[i])
            continue;
        add(t, "%s", "; ");
        (void)add_group(t, r, world, hosts, i, told);
    }
    free(told);
}

/* ---- phases ---------------------------------------------------------------------------------------------------------- */

/* A deadlock is what is left when nothing else explains the end, and a failed call may be the echo of a crash. */
static int weight(enum outcome o)
{
    return o == OUTCOME_DEADLOCK ? 0 : o == OUTCOME_RUNTIME_ERROR ? 1 : 2;
}

/* The rank whose EXIT counts: the heaviest, the first to arrive of equal ones; -1: there is none. */
static int deciding_exit(const struct rounds *r, int world)
{
    int best = -1;
    struct exit_report x, y;
    for (int i = 0; i < world; i++) {
        if (rounds_entry(r, i)->kind != ROUND_EXIT)
            continue;
        exit_report_decode(rounds_entry(r, i), &x);
        if (best >= 0)
            exit_report_decode(rounds_entry(r, best), &y);
        if (best < 0 || weight(x.outcome) > weight(y.outcome) ||
            (weight(x.outcome) == weight(y.outcome) && rounds_entry(r, i)->arrival < rounds_entry(r, best)->arrival))
            best = i;
    }
    return best;
}

/* A rank whose allocation was refused explains a hang of the others. */
static int refused_rank(const struct rounds *r, int world)
{
    struct exit_report x;
    for (int i = 0; i < world; i++) {
        uint32_t kind = rounds_entry(r, i)->kind;
        if (kind != ROUND_EXIT && kind != ROUND_ABORTED)
            continue;
        exit_report_decode(rounds_entry(r, i), &x);
        if (x.refused)
            return i;
    }
    return -1;
}

/* The rank that is not where most others are: the interesting one of a hang. */
static int odd_one(const struct rounds *r, int world)
{
    int best = 0, fewest = world + 1;
    char stage[128], other[128];
    for (int i = 0; i < world; i++) {
        int same = 0;
        where(r, i, stage, sizeof(stage));
        for (int k = 0; k < world; k++) {
            where(r, k, other, sizeof(other));
            same += strcmp(stage, other) == 0;
        }
        if (same < fewest) {
            fewest = same;
            best = i;
        }
    }
    return best;
}

static void decide_deadlock(const struct rounds *r, int world, char *const *hosts, double seconds, struct decision *d)
{
    struct text t = {d->detail, sizeof(d->detail), 0};
    int refused = refused_rank(r, world);
    d->outcome = refused >= 0 ? OUTCOME_OUT_OF_MEMORY : OUTCOME_DEADLOCK;
    d->rank = refused >= 0 ? refused : odd_one(r, world);
    if (refused >= 0)
        add(&t, "an allocation of rank %d was refused, then it hung: ", refused);
    add_places(&t, r, world, hosts, odd_one(r, world));
    if (seconds > 0)
        add(&t, "; after %.1f s", seconds);
}

static void decide_exit(const struct rounds *r, int world, char *const *hosts, int rank, struct decision *d)
{
    struct exit_report x;
    exit_report_decode(rounds_entry(r, rank), &x);
    d->rank = rank;
    d->killed = x.killed;
    (void)snprintf(d->output, sizeof(d->output), "%s", x.output);
    if (x.outcome == OUTCOME_DEADLOCK) {
        decide_deadlock(r, world, hosts, x.seconds, d);
        return;
    }
    bool memory = x.refused && x.outcome != OUTCOME_INFRA_ERROR;
    d->outcome = memory ? OUTCOME_OUT_OF_MEMORY : x.outcome;
    (void)snprintf(d->detail, sizeof(d->detail), "rank %d (%s): %s%s", rank, hosts[rank],
                   memory && x.outcome != OUTCOME_OUT_OF_MEMORY ? "after a refused allocation: " : "", x.detail);
}

enum round_result decide_phase(const struct rounds *r, int world, char *const *hosts, struct decision *d)
{
    int kinds[ROUND_VERDICT + 1] = {0};
    *d = (struct decision){.outcome = OUTCOME_CORRECT, .rank = -1};
    for (int i = 0; i < world; i++) {
        uint32_t kind = rounds_entry(r, i)->kind;
        kinds[kind <= ROUND_VERDICT ? kind : 0]++;
    }
    if (kinds[ROUND_EXCHANGE] == world)
        return ROUND_CONTINUES;
    if (kinds[ROUND_DONE] == world)
        return ROUND_FINISHED;
    int rank = deciding_exit(r, world);
    if (rank >= 0)
        decide_exit(r, world, hosts, rank, d);
    else if (kinds[ROUND_EXCHANGE] + kinds[ROUND_DONE] < world)
        *d = (struct decision){.outcome = OUTCOME_INFRA_ERROR, .rank = -1, .detail = "the agents are in different rounds"};
    else
        decide_deadlock(r, world, hosts, 0, d);
    return ROUND_FAILED;
}

/* ---- verdicts -------------------------------------------------------------------------------------------------------- */

char *verdict_encode(enum outcome outcome, const char *detail, const json_t *more)
{
    json_t *value = json_pack("{s:s, s:s, s:O*}", "outcome", outcome_name(outcome), "detail", detail, "more", more);
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

static int verdict_weight(enum outcome o)
{
    switch (o) {
    case OUTCOME_CORRECT:
        return 0;
    case OUTCOME_VALUE_MISMATCH:
        return 1;
    case OUTCOME_SHAPE_MISMATCH:
        return 2;
    default:
        return 3;
    }
}

static int read_verdict(const struct round_entry *e, int rank, struct decision *d, json_t *more, struct pkb_error *err)
{
    const char *name, *detail;
    json_t *object = pkb_json_parse((const char *)e->data, e->size, err);
    int outcome = -1, rc = -1;
    if (object && pkb_json_string(object, "outcome", &name, err) == 0 && pkb_json_string(object, "detail", &detail, err) == 0) {
        outcome = outcome_parse(name);
        rc = outcome < 0 ? pkb_error_set(err, "unknown outcome") : 0;
    }
    if (rc == 0 && verdict_weight((enum outcome)outcome) > verdict_weight(d->outcome)) {
        d->outcome = (enum outcome)outcome;
        d->rank = rank;
        (void)snprintf(d->detail, sizeof(d->detail), "rank %d: %s", rank, detail);
    }
    if (rc == 0 && more) {
        json_t *part = json_object_get(object, "more");
        (void)json_array_append(more, part ? part : json_null());
    }
    json_decref(object);
    return rc < 0 ? pkb_error_prefix(err, "verdict of rank %d", rank) : 0;
}

int decide_verdict(const struct rounds *r, int world, struct decision *d, json_t **more, struct pkb_error *err)
{
    json_t *list = more ? json_array() : NULL;
    *d = (struct decision){.outcome = OUTCOME_CORRECT, .rank = -1};
    for (int i = 0; i < world; i++)
        if (read_verdict(rounds_entry(r, i), i, d, list, err) < 0) {
            json_decref(list);
            return -1;
        }
    if (more)
        *more = list;
    return 0;
}
