/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent decides without processes: the meaning of rounds, cards, lists of cells, samples, logs. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "node_agent/card.h"
#include "node_agent/decide.h"
#include "node_agent/loop.h"
#include "node_agent/runlog.h"
#include "node_agent/selection.h"
#include "node_agent/star.h"
#include "util/file.h"

#define WORLD 4

static char *hosts[WORLD] = {"n0", "n0", "n1", "n1"};

/* ---- a round of four ranks, its three members played through their sockets ---------------------------------------------- */

struct part {
    enum round_kind kind;
    enum outcome outcome; /* of an EXIT */
    const char *stage;
    bool refused;
};

static void send_part(int fd, const struct part *part)
{
    uint8_t header[20];
    struct exit_report x = {.outcome = part->outcome, .refused = part->refused, .seconds = 5};
    (void)snprintf(x.stage, sizeof(x.stage), "%s", part->stage ? part->stage : "");
    (void)snprintf(x.detail, sizeof(x.detail), "it failed");
    char *text = exit_report_encode(&x);
    assert_non_null(text);
    frames_put32(header, FRAME_SUBMIT);
    frames_put32(header + 4, (uint32_t)(4 + strlen(text)));
    frames_put64(header + 8, 0);
    frames_put32(header + 16, part->kind);
    assert_int_equal(write(fd, header, sizeof(header)), sizeof(header));
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    free(text);
}

static void submit_part(struct rounds *hub, const struct part *part)
{
    struct exit_report x = {.outcome = part->outcome, .refused = part->refused, .seconds = 5, .detail = "it failed"};
    (void)snprintf(x.stage, sizeof(x.stage), "%s", part->stage ? part->stage : "");
    char *text = exit_report_encode(&x);
    assert_non_null(text);
    assert_int_equal(rounds_submit(hub, part->kind, text, strlen(text), NULL), 0);
    free(text);
}

/* Members submit in the order 3, 2, 1; then agent 0. */
static struct rounds *play(const struct part *parts)
{
    struct pkb_error err;
    struct frames *members[WORLD];
    int far[WORLD];
    for (int i = 1; i < WORLD; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        members[i] = frames_create(pair[0], rounds_member_limit(), &err);
        assert_non_null(members[i]);
        far[i] = pair[1];
    }
    struct rounds *hub = rounds_create_hub(WORLD, members, &err);
    assert_non_null(hub);
    for (int i = WORLD - 1; i > 0; i--) {
        send_part(far[i], &parts[i]);
        int event;
        do
            event = rounds_progress(hub, &err);
        while (event == ROUNDS_INTERRUPT);
        assert_int_equal(event, ROUNDS_NONE);
    }
    submit_part(hub, &parts[0]);
    assert_int_equal(rounds_wait(hub, 10000, &err), 0);
    for (int i = 1; i < WORLD; i++)
        (void)close(far[i]);
    return hub;
}

struct round_case {
    const char *name;
    struct part parts[WORLD];
    enum round_result result;
    enum outcome outcome;
    int rank;
    const char *detail;
};

#define BARRIER "in a barrier, trial 0"
#define INSIDE "in pkb_solution, trial 0"

#define PLAIN(kind)                                                                                                              \
    {                                                                                                                            \
        kind, OUTCOME_CORRECT, NULL, false                                                                                       \
    }
#define EXITS(outcome, stage, refused)                                                                                           \
    {                                                                                                                            \
        ROUND_EXIT, outcome, stage, refused                                                                                      \
    }
#define ABORTED(stage, refused)                                                                                                  \
    {                                                                                                                            \
        ROUND_ABORTED, OUTCOME_NOT_RUN, stage, refused                                                                           \
    }

static const struct round_case round_cases[] = {
    {"all exchange",
     {PLAIN(ROUND_EXCHANGE), PLAIN(ROUND_EXCHANGE), PLAIN(ROUND_EXCHANGE), PLAIN(ROUND_EXCHANGE)},
     ROUND_CONTINUES,
     0,
     -1,
     ""},
    {"all done", {PLAIN(ROUND_DONE), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE)}, ROUND_FINISHED, 0, -1, ""},
    {"one exits",
     {PLAIN(ROUND_ABORTED), PLAIN(ROUND_ABORTED), EXITS(OUTCOME_CRASH, INSIDE, false), PLAIN(ROUND_DONE)},
     ROUND_FAILED,
     OUTCOME_CRASH,
     2,
     "rank 2 (n1): it failed"},
    {"the first of equal ones",
     {EXITS(OUTCOME_CRASH, NULL, false), EXITS(OUTCOME_CRASH, NULL, false), PLAIN(ROUND_DONE), EXITS(OUTCOME_CRASH, NULL, false)},
     ROUND_FAILED,
     OUTCOME_CRASH,
     3,
     "rank 3 (n1): it failed"},
    {"a crash explains a failed call",
     {EXITS(OUTCOME_CRASH, NULL, false), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE), EXITS(OUTCOME_RUNTIME_ERROR, NULL, false)},
     ROUND_FAILED,
     OUTCOME_CRASH,
     0,
     "rank 0 (n0)"},
    {"a failed call explains a hang",
     {EXITS(OUTCOME_RUNTIME_ERROR, NULL, false), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE), EXITS(OUTCOME_DEADLOCK, NULL, false)},
     ROUND_FAILED,
     OUTCOME_RUNTIME_ERROR,
     0,
     "rank 0 (n0)"},
    {"a refused allocation",
     {PLAIN(ROUND_ABORTED), EXITS(OUTCOME_CRASH, INSIDE, true), PLAIN(ROUND_ABORTED), PLAIN(ROUND_ABORTED)},
     ROUND_FAILED,
     OUTCOME_OUT_OF_MEMORY,
     1,
     "rank 1 (n0): after a refused allocation: it failed"},
    {"one never arrives",
     {ABORTED(BARRIER, false), EXITS(OUTCOME_DEADLOCK, BARRIER, false), ABORTED(INSIDE, false), ABORTED(BARRIER, false)},
     ROUND_FAILED,
     OUTCOME_DEADLOCK,
     2,
     "rank 2 (n1) in pkb_solution, trial 0; ranks 0,1,3 in a barrier, trial 0; after 5.0 s"},
    {"all hang",
     {ABORTED(INSIDE, false), ABORTED(INSIDE, false), EXITS(OUTCOME_DEADLOCK, INSIDE, false), ABORTED(INSIDE, false)},
     ROUND_FAILED,
     OUTCOME_DEADLOCK,
     0,
     "ranks 0,1,2,3 in pkb_solution, trial 0; after 5.0 s"},
    {"a hang after a refused allocation",
     {ABORTED(INSIDE, true), EXITS(OUTCOME_DEADLOCK, BARRIER, false), ABORTED(BARRIER, false), ABORTED(BARRIER, false)},
     ROUND_FAILED,
     OUTCOME_OUT_OF_MEMORY,
     0,
     "an allocation of rank 0 was refused, then it hung: rank 0 (n0) in pkb_solution"},
    {"an exchange that one never joins",
     {PLAIN(ROUND_EXCHANGE), PLAIN(ROUND_DONE), PLAIN(ROUND_EXCHANGE), PLAIN(ROUND_EXCHANGE)},
     ROUND_FAILED,
     OUTCOME_DEADLOCK,
     1,
     "rank 1 (n0) finished; ranks 0,2,3 waiting in symm_alloc for the others"},
    {"rounds that do not belong together",
     {PLAIN(ROUND_VERDICT), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE), PLAIN(ROUND_DONE)},
     ROUND_FAILED,
     OUTCOME_INFRA_ERROR,
     -1,
     "different rounds"},
};

static void rounds_are_decided_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(round_cases) / sizeof(round_cases[0]); i++) {
        const struct round_case *c = &round_cases[i];
        struct decision d;
        struct rounds *hub = play(c->parts);
        enum round_result result = decide_phase(hub, WORLD, hosts, &d);
        if (result != c->result || d.outcome != c->outcome || d.rank != c->rank || !strstr(d.detail, c->detail))
            fail_msg("%s: result %d, %s, rank %d: %s", c->name, result, outcome_name(d.outcome), d.rank, d.detail);
        rounds_destroy(hub);
    }
}

/* ---- one runner's end ----------------------------------------------------------------------------------------------------- */

static void ends_are_named(void **state)
{
    struct exit_report x = {0};
    struct runner_end crash = {.status = SIGSEGV, .stage = "in pkb_setup"}, killed = {.status = SIGKILL, .stage = INSIDE},
                      starved = {.status = SIGKILL, .oom_killer = true, .stage = INSIDE},
                      left = {.status = 3 << 8, .inside = true, .stage = INSIDE},
                      idle = {.status = 0, .stage = "between commands"}, broken = {.broken = true, .text = "not JSON"};
    (void)state;
    exit_report_from_end(&crash, &x);
    assert_int_equal(x.outcome, OUTCOME_CRASH);
    assert_string_equal(x.detail, "killed by signal 11 (SIGSEGV, Segmentation fault) in pkb_setup");
    assert_false(x.killed);
    exit_report_from_end(&killed, &x);
    assert_int_equal(x.outcome, OUTCOME_CRASH);
    assert_true(x.killed);
    exit_report_from_end(&left, &x);
    assert_int_equal(x.outcome, OUTCOME_RUNTIME_ERROR);
    assert_string_equal(x.detail, "exited with code 3 inside pkb_solution, trial 0");
    x = (struct exit_report){0};
    exit_report_from_end(&starved, &x);
    assert_int_equal(x.outcome, OUTCOME_OUT_OF_MEMORY);
    assert_false(x.killed);
    exit_report_from_end(&idle, &x);
    assert_string_equal(x.detail, "exited with code 0 between commands");
    exit_report_from_end(&broken, &x);
    assert_int_equal(x.outcome, OUTCOME_TAMPERING);
}

static void texts_that_are_not_utf8(void **state)
{
    struct exit_report x = {.outcome = OUTCOME_RUNTIME_ERROR, .detail = "cut \xc3", .stage = "\x80", .output = "\xff\x01"};
    char *text = exit_report_encode(&x);
    (void)state;
    assert_non_null(text);
    assert_non_null(strstr(text, "cut ?"));
    free(text);
}

/* ---- verdicts ------------------------------------------------------------------------------------------------------------- */

static int verdict_of(const char *data, enum outcome *outcome)
{
    struct decision d;
    struct rounds *r = rounds_create_hub(1, NULL, NULL);
    assert_non_null(r);
    assert_int_equal(rounds_submit(r, ROUND_VERDICT, data, strlen(data), NULL), 0);
    assert_int_equal(rounds_wait(r, 1000, NULL), 0);
    int rc = decide_verdict(r, 1, &d, NULL, NULL);
    *outcome = d.outcome;
    rounds_destroy(r);
    return rc;
}

static void verdicts_are_read(void **state)
{
    enum outcome o;
    char *text = verdict_encode(OUTCOME_VALUE_MISMATCH, "y differs", NULL);
    (void)state;
    assert_int_equal(verdict_of(text, &o), 0);
    assert_int_equal(o, OUTCOME_VALUE_MISMATCH);
    free(text);
    assert_int_equal(verdict_of("", &o), -1);
    assert_int_equal(verdict_of("[]", &o), -1);
    assert_int_equal(verdict_of("{\"outcome\":\"fine\",\"detail\":\"\"}", &o), -1);
    assert_int_equal(verdict_of("{\"outcome\":\"correct\"}", &o), -1);
}

/* ---- cards ---------------------------------------------------------------------------------------------------------------- */

static void cards_come_back(void **state)
{
    struct pkb_error err;
    struct card c, back;
    (void)state;
    assert_int_equal(card_make(&c, "build-1", 4711, &err), 0);
    char *text = card_encode(&c, &err);
    assert_non_null(text);
    assert_int_equal(card_decode(text, &back, &err), 0);
    free(text);
    assert_string_equal(back.build, "build-1");
    assert_string_equal(back.host, c.host);
    assert_string_equal(back.shm_prefix, c.shm_prefix);
    assert_int_equal(back.port, 4711);
    assert_int_equal(back.pid, getpid());
    assert_memory_equal(back.cookie, c.cookie, STAR_COOKIE);
    assert_int_equal(back.n_addresses, c.n_addresses);
}

#define COOKIE "\"cookie\":\"0000000000000000000000000000000000000000000000000000000000000000\""
#define CARD(host, port, cookie, addresses)                                                                                      \
    "{\"host\":" host ",\"build\":\"b\",\"shm\":\"/x\",\"pid\":1,\"port\":" port "," cookie ",\"addresses\":" addresses "}"

static void malformed_cards(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        CARD("\"\"", "1", COOKIE, "[]"),
        CARD("7", "1", COOKIE, "[]"),
        CARD("\"h\"", "65536", COOKIE, "[]"),
        CARD("\"h\"", "-1", COOKIE, "[]"),
        CARD("\"h\"", "1", "\"cookie\":\"00\"", "[]"),
        CARD("\"h\"", "1", "\"cookie\":\"zz\"", "[]"),
        CARD("\"h\"", "1", COOKIE, "{}"),
        CARD("\"h\"", "1", COOKIE, "[1]"),
        CARD("\"h\"", "1", COOKIE, "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\"]"),
        CARD("\"h\"", "1", COOKIE, "[\"0123456789012345678901234567890123456789012345678901234567890123456789\"]"),
    };
    struct card c;
    struct pkb_error err;
    (void)state;
    assert_int_equal(card_decode(CARD("\"h\"", "1", COOKIE, "[\"::1\"]"), &c, &err), 0);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (card_decode(texts[i], &c, &err) == 0 || strncmp(err.text, "card: ", 6) != 0)
            fail_msg("card %zu was accepted", i);
}

/* ---- lists of cells --------------------------------------------------------------------------------------------------------- */

static void lists_of_cells(void **state)
{
    static const struct {
        const char *list, *marks; /* NULL: refused; cells 10..14 */
    } cases[] = {
        {"10", "x...."},    {"10,12-14", "x.xxx"},
        {"12-12", "..x.."}, {"14,10", "x...x"},
        {"", NULL},         {"9", NULL},
        {"15", NULL},       {"10-15", NULL},
        {"13-11", NULL},    {"10,", NULL},
        {",10", NULL},      {"10;11", NULL},
        {"-10", NULL},      {"10-", NULL},
        {"1e1", NULL},      {" 10", NULL},
        {"all,10", NULL},   {"99999999999999999999", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool wanted[5];
        struct pkb_error err;
        int rc = selection_parse(cases[i].list, 10, 5, wanted, &err);
        if ((rc == 0) != (cases[i].marks != NULL))
            fail_msg("'%s': %s", cases[i].list, rc == 0 ? "was accepted" : err.text);
        for (int k = 0; rc == 0 && k < 5; k++)
            assert_int_equal(wanted[k], cases[i].marks[k] == 'x');
    }
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

static int encode(const char *answer, int iterations, void **data, size_t *size)
{
    struct pkb_error err;
    json_t *value = json_loads(answer, 0, NULL);
    assert_non_null(value);
    *data = NULL;
    int rc = loop_encode(value, iterations, 100, -1, data, size, &err);
    json_decref(value);
    return rc;
}

static void samples_come_back(void **state)
{
    void *data;
    size_t size;
    struct loop l;
    struct record_times t;
    struct rounds *r = rounds_create_hub(1, NULL, NULL);
    (void)state;
    assert_non_null(r);
    assert_int_equal(encode("{\"ns\":[10,30,20]}", 3, &data, &size), 0);
    assert_int_equal(rounds_submit(r, ROUND_DONE, data, size, NULL), 0);
    free(data);
    assert_int_equal(rounds_wait(r, 1000, NULL), 0);
    assert_int_equal(loop_from_round(r, 1, 4, &l, NULL), -1); /* as many as were asked for */
    assert_int_equal(loop_from_round(r, 1, 3, &l, NULL), 0);
    assert_true(l.rows[0][1] == 30 && l.wall_ns[0] == 100 && l.queue_ns[0] == -1);
    assert_int_equal(loop_times(&l, &t, NULL), 0);
    assert_true(t.mean == 20 && t.median == 20 && t.iterations == 3);
    loop_clear(&l);
    loop_clear(&l);
    rounds_destroy(r);
}

static void malformed_samples(void **state)
{
    static const char *const answers[] = {
        "{}",
        "{\"ns\":3}",
        "{\"ns\":[1,2]}",
        "{\"ns\":[1,2,3,4]}",
        "{\"ns\":[1,2,\"3\"]}",
        "{\"ns\":[1,2,0]}",
        "{\"ns\":[1,-2,3]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        void *data;
        size_t size;
        if (encode(answers[i], 3, &data, &size) == 0)
            fail_msg("%s was accepted", answers[i]);
    }
}

/* ---- logs ------------------------------------------------------------------------------------------------------------------- */

static size_t log_size(const char *path, size_t bytes)
{
    char *data, *line = malloc(bytes + 1);
    size_t size;
    assert_non_null(line);
    memset(line, 'a', bytes);
    struct runlog *log = runlog_create(path, "title", NULL);
    assert_non_null(log);
    for (size_t done = 0; done < bytes; done += 1000)
        runlog_write(log, line, bytes - done < 1000 ? bytes - done : 1000);
    runlog_destroy(log);
    free(line);
    if (bytes == 0)
        return pkb_file_exists(path) ? 1 : 0;
    assert_int_equal(pkb_file_read(path, 0, &data, &size, NULL), 0);
    assert_int_equal(strncmp(data, "== title\n", 9), 0);
    free(data);
    return size;
}

static void logs_are_bounded(void **state)
{
    static const size_t sizes[] = {0, 1, RUNLOG_HEAD, RUNLOG_HEAD + 1, RUNLOG_HEAD + RUNLOG_TAIL, 1000000};
    char folder[] = "/tmp/pkb-log-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/log", folder);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t size = log_size(path, sizes[i]),
               kept = sizes[i] < RUNLOG_HEAD + RUNLOG_TAIL ? sizes[i] : RUNLOG_HEAD + RUNLOG_TAIL;
        assert_in_range(size, kept, kept + 64);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    struct runlog *log = runlog_create("/no/such/folder/log", "title", NULL);
    char last[8];
    runlog_write(log, "0123456789\n", 11);
    runlog_last(log, last, sizeof(last));
    assert_string_equal(last, "456789");
    runlog_destroy(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_decided_alike), cmocka_unit_test(ends_are_named),
        cmocka_unit_test(texts_that_are_not_utf8),  cmocka_unit_test(verdicts_are_read),
        cmocka_unit_test(cards_come_back),          cmocka_unit_test(malformed_cards),
        cmocka_unit_test(lists_of_cells),           cmocka_unit_test(samples_come_back),
        cmocka_unit_test(malformed_samples),        cmocka_unit_test(logs_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
