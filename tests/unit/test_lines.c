/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: whole, split, glued and hostile; hexadecimal; status texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node_agent/protocol.h"
#include "util/clock.h"
#include "util/file.h"

#define SOON 5000 /* ms: a bound, not a wait */

struct ends {
    struct lines *lines;
    int peer;
};

static struct ends make_ends(void)
{
    int fds[2];
    struct ends e;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    e.lines = lines_create(fds[0], NULL);
    assert_non_null(e.lines);
    e.peer = fds[1];
    return e;
}

static void close_ends(struct ends *e)
{
    lines_destroy(e->lines);
    if (e->peer >= 0)
        (void)close(e->peer);
}

static void feed(struct ends *e, const char *text)
{
    assert_int_equal(pkb_write_all(e->peer, text, strlen(text)), 0);
}

static void expect_member(struct ends *e, const char *key, int number)
{
    struct pkb_error err;
    json_t *value;
    assert_int_equal(lines_receive(e->lines, SOON, &value, &err), 1);
    assert_int_equal(json_integer_value(json_object_get(value, key)), number);
    json_decref(value);
}

static void test_lines_arrive_whole_split_and_glued(void **state)
{
    struct ends e = make_ends();
    json_t *value;
    (void)state;
    feed(&e, "{\"a\":1}\n{\"a\":2}\n{\"a\"");
    expect_member(&e, "a", 1);
    expect_member(&e, "a", 2);
    assert_int_equal(lines_receive(e.lines, 0, &value, NULL), 0);
    assert_null(value);
    feed(&e, ":3}");
    assert_int_equal(lines_receive(e.lines, 0, &value, NULL), 0);
    feed(&e, "\n");
    expect_member(&e, "a", 3);
    close_ends(&e);
}

static void test_a_slow_sender_does_not_extend_the_timeout(void **state)
{
    struct ends e = make_ends();
    json_t *value;
    (void)state;
    feed(&e, "{\"a\":");
    int64_t start = pkb_now_ns();
    assert_int_equal(lines_receive(e.lines, 20, &value, NULL), 0);
    int64_t took = pkb_now_ns() - start;
    assert_true(took >= 19000000 && took < 5000000000);
    close_ends(&e);
}

static void test_malformed_lines(void **state)
{
    static const char *const rows[] = {
        "\n",
        "garbage\n",
        "5\n",
        "[1, 2]\n",
        "{\"a\":1\n",
        "{\"a\":1}}\n",
        "{\"a\":1, \"a\":2}\n",
        "{\"a\":\"\xff\xfe\"}\n",
        "{\"a\":NaN}\n",
        "{\"a\":1e999}\n",
        "\x7f\x45\x4c\x46\x02\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ends e = make_ends();
        struct pkb_error err;
        json_t *value;
        feed(&e, rows[i]);
        feed(&e, "{\"next\":7}\n");
        assert_int_equal(lines_receive(e.lines, SOON, &value, &err), -1);
        assert_null(value);
        assert_non_null(strstr(err.text, "control socket"));
        expect_member(&e, "next", 7); /* the rest of the stream is not lost */
        close_ends(&e);
    }
}

static void test_a_zero_byte_is_no_end_of_line(void **state)
{
    struct ends e = make_ends();
    json_t *value;
    (void)state;
    assert_int_equal(pkb_write_all(e.peer, "{\"a\":1}\0{}\n", 11), 0);
    assert_int_equal(lines_receive(e.lines, SOON, &value, NULL), -1);
    close_ends(&e);
}

struct flood {
    int fd;
    size_t size;
    char byte;
};

static void *send_flood(void *arg)
{
    struct flood *f = arg;
    char chunk[65536];
    memset(chunk, f->byte, sizeof(chunk));
    for (size_t sent = 0; sent < f->size; sent += sizeof(chunk))
        if (send(f->fd, chunk, sizeof(chunk), MSG_NOSIGNAL) < 0)
            break;
    return NULL;
}

static void test_an_endless_line_is_cut_off(void **state)
{
    struct ends e = make_ends();
    struct flood f = {e.peer, (size_t)PROTOCOL_MAX_LINE * 4, 'x'};
    struct pkb_error err;
    pthread_t thread;
    json_t *value;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_flood, &f), 0);
    assert_int_equal(lines_receive(e.lines, 20000, &value, &err), -1);
    assert_non_null(strstr(err.text, "longer than"));
    lines_destroy(e.lines); /* ends the flood */
    e.lines = NULL;
    (void)pthread_join(thread, NULL);
    close_ends(&e);
}

static void test_deep_nesting_is_refused(void **state)
{
    struct ends e = make_ends();
    struct flood f = {e.peer, 1 << 20, '['};
    struct pkb_error err;
    pthread_t thread;
    json_t *value;
    int rc;
    (void)state;
    feed(&e, "{\"a\":");
    assert_int_equal(pthread_create(&thread, NULL, send_flood, &f), 0);
    while ((rc = lines_receive(e.lines, 10, &value, &err)) == 0 && pthread_tryjoin_np(thread, NULL) != 0)
        ;
    assert_int_equal(rc, 0);
    feed(&e, "\n");
    assert_int_equal(lines_receive(e.lines, SOON, &value, &err), -1);
    assert_non_null(strstr(err.text, "depth"));
    close_ends(&e);
}

static void test_closing(void **state)
{
    struct ends e = make_ends();
    struct pkb_error err;
    json_t *value;
    (void)state;
    feed(&e, "{\"a\":1}\n{\"half\"");
    (void)close(e.peer);
    e.peer = -1;
    expect_member(&e, "a", 1);
    assert_int_equal(lines_receive(e.lines, SOON, &value, &err), -2);
    assert_non_null(strstr(err.text, "middle of a line"));
    assert_int_equal(lines_receive(e.lines, 0, &value, &err), -2);
    json_t *message = json_pack("{s:i}", "a", 1);
    assert_int_equal(lines_send(e.lines, message, SOON, &err), -1);
    json_decref(message);
    close_ends(&e);
}

static json_t *large_message(size_t size)
{
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'y', size);
    text[size] = '\0';
    json_t *value = json_object();
    assert_int_equal(json_object_set_new(value, "text", json_stringn(text, size)), 0);
    free(text);
    return value;
}

static void test_a_peer_that_never_reads(void **state)
{
    struct ends e = make_ends();
    struct pkb_error err;
    json_t *message = large_message(8 << 20);
    (void)state;
    int64_t start = pkb_now_ns();
    assert_int_equal(lines_send(e.lines, message, 30, &err), -1);
    assert_non_null(strstr(err.text, "has not read"));
    assert_true(pkb_now_ns() - start < 5000000000);
    json_decref(message);
    close_ends(&e);
}

static void test_messages_that_cannot_be_sent(void **state)
{
    struct ends e = make_ends();
    struct pkb_error err;
    json_t *message = large_message(PROTOCOL_MAX_LINE);
    (void)state;
    assert_int_equal(lines_send(e.lines, message, SOON, &err), -1);
    assert_non_null(strstr(err.text, "too long"));
    assert_int_equal(lines_send(e.lines, NULL, SOON, &err), -1);
    json_decref(message);
    close_ends(&e);
}

struct echo {
    struct lines *lines;
    json_t *value;
    int rc;
};

static void *receive_one(void *arg)
{
    struct echo *e = arg;
    e->rc = lines_receive(e->lines, SOON, &e->value, NULL);
    return NULL;
}

static void test_a_long_message_goes_through(void **state)
{
    struct ends e = make_ends();
    struct echo echo = {.lines = lines_create(e.peer, NULL)};
    json_t *message = large_message(6 << 20);
    pthread_t thread;
    (void)state;
    assert_non_null(echo.lines);
    assert_int_equal(pthread_create(&thread, NULL, receive_one, &echo), 0);
    assert_int_equal(lines_send(e.lines, message, SOON, NULL), 0);
    (void)pthread_join(thread, NULL);
    assert_int_equal(echo.rc, 1);
    assert_true(json_equal(message, echo.value));
    json_decref(echo.value);
    json_decref(message);
    e.peer = -1;
    lines_destroy(echo.lines);
    close_ends(&e);
}

static void test_hexadecimal(void **state)
{
    static const struct {
        const char *text;
        int rc;
        size_t size;
    } rows[] = {
        {"", 0, 0},
        {"00", 0, 1},
        {"ff0a", 0, 2},
        {"0123456789abcdef", 0, 8},
        {"0", -1, 0},
        {"0g", -1, 0},
        {"g0", -1, 0},
        {"FF", -1, 0},
        {" 00", -1, 0},
        {"0x00", -1, 0},
        {"00\n", -1, 0},
        {"\xc3\xa9", -1, 0},
        {"000000000000000000", -1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err;
        void *data;
        size_t size;
        json_t *value = json_string(rows[i].text);
        assert_int_equal(protocol_hex_decode(value, 8, &data, &size, &err), rows[i].rc);
        if (rows[i].rc == 0) {
            assert_int_equal(size, rows[i].size);
            json_t *back = protocol_hex_encode(data, size);
            assert_true(json_equal(value, back));
            json_decref(back);
        }
        free(data);
        json_decref(value);
    }
}

static void test_hexadecimal_of_other_types(void **state)
{
    void *data;
    size_t size;
    json_t *number = json_integer(5);
    (void)state;
    assert_int_equal(protocol_hex_decode(number, 8, &data, &size, NULL), -1);
    assert_int_equal(protocol_hex_decode(NULL, 8, &data, &size, NULL), -1);
    assert_null(data);
    assert_null(protocol_hex_encode("", PROTOCOL_MAX_LINE));
    json_decref(number);
}

static void test_status_texts(void **state)
{
    static const struct {
        uint32_t stage, call, timed;
        const char *text;
    } rows[] = {
        {STAGE_SOLUTION, 2, 0, "in pkb_solution, trial 2"},
        {STAGE_BARRIER, 7, 1, "in a barrier, timed iteration 7"},
        {STAGE_BARRIER, RUNNER_NO_CALL, 0, "in a barrier"},
        {STAGE_SETUP, RUNNER_NO_CALL, 0, "in pkb_setup"},
        {STAGE_STARTING, 0, 0, "starting"},
        {STAGE_COUNT, 0, 0, "in an unknown stage (the status page was overwritten)"},
        {0xffffffffu, 0xffffffffu, 0xffffffffu, "in an unknown stage (the status page was overwritten)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct runner_status s;
        char text[100];
        atomic_init(&s.stage, rows[i].stage);
        atomic_init(&s.call, rows[i].call);
        atomic_init(&s.timed, rows[i].timed);
        runner_status_describe(&s, text, sizeof(text));
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_arrive_whole_split_and_glued),
        cmocka_unit_test(test_a_slow_sender_does_not_extend_the_timeout),
        cmocka_unit_test(test_malformed_lines),
        cmocka_unit_test(test_a_zero_byte_is_no_end_of_line),
        cmocka_unit_test(test_an_endless_line_is_cut_off),
        cmocka_unit_test(test_deep_nesting_is_refused),
        cmocka_unit_test(test_closing),
        cmocka_unit_test(test_a_peer_that_never_reads),
        cmocka_unit_test(test_messages_that_cannot_be_sent),
        cmocka_unit_test(test_a_long_message_goes_through),
        cmocka_unit_test(test_hexadecimal),
        cmocka_unit_test(test_hexadecimal_of_other_types),
        cmocka_unit_test(test_status_texts),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
