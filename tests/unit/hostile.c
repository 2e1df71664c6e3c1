/* SPDX-License-Identifier: Apache-2.0 */
/* A runner that misbehaves in the way that PKB_HOSTILE names. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node_agent/protocol.h"

static void say(const char *line)
{
    (void)!write(PROTOCOL_SOCKET, line, strlen(line));
}

static struct runner_status *status_page(void)
{
    void *page = mmap(NULL, sizeof(struct runner_status), PROT_READ | PROT_WRITE, MAP_SHARED, PROTOCOL_STATUS, 0);
    if (page == MAP_FAILED)
        _exit(99);
    return page;
}

static _Noreturn void rest(void)
{
    for (;;)
        (void)pause();
}

static void echo(void)
{
    char line[4096];
    ssize_t n = read(PROTOCOL_SOCKET, line, sizeof(line));
    if (n > 0)
        (void)!write(PROTOCOL_SOCKET, line, (size_t)n);
    rest();
}

static void flood_log(void)
{
    static char text[65536];
    memset(text, 'x', sizeof(text));
    for (;;)
        (void)!write(STDERR_FILENO, text, sizeof(text));
}

static void endless_line(void)
{
    static char text[65536];
    memset(text, '1', sizeof(text));
    for (;;)
        if (send(PROTOCOL_SOCKET, text, sizeof(text), MSG_NOSIGNAL) < 0)
            rest();
}

static void flood_messages(void)
{
    for (;;)
        say("{\"did\":\"trials\"}\n");
}

static void close_socket(void)
{
    (void)close(PROTOCOL_SOCKET);
    rest();
}

static void stop_itself(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)raise(SIGSTOP);
    rest();
}

/* Two daemons outside the group that hold every descriptor, and a shared memory object; then exits. */
static void leave_things(void)
{
    char name[128];
    (void)snprintf(name, sizeof(name), "%sleft", getenv("PKB_HOSTILE_PREFIX"));
    if (shm_open(name, O_CREAT | O_RDWR, 0600) < 0)
        _exit(98);
    for (int i = 0; i < 2; i++) {
        if (fork() == 0) {
            (void)setsid();
            (void)signal(SIGTERM, SIG_IGN);
            if (fork() == 0)
                rest();
            rest();
        }
    }
    say("{\"left\":1}\n");
    _exit(0);
}

static void exit_inside(void)
{
    struct runner_status *s = status_page();
    atomic_store(&s->stage, STAGE_SOLUTION);
    atomic_store(&s->call, 2);
    exit(0);
}

static void crash_after_refusal(void)
{
    struct runner_status *s = status_page();
    atomic_store(&s->stage, STAGE_SETUP);
    atomic_store(&s->alloc_refused, 1);
    (void)signal(SIGSEGV, SIG_DFL);
    (void)raise(SIGSEGV);
}

static void last_words(void)
{
    (void)fprintf(stderr, "first line\nlast \x01\xff words\n");
    say("{\"failed\":\"load_error\",\"detail\":\"x\"}\n");
    _exit(3);
}

static void overwrite_status(void)
{
    memset(status_page(), 0xee, sizeof(struct runner_status));
    say("{}\n");
    rest();
}

static void not_json(void)
{
    say("\xff\xfe nonsense\n");
    rest();
}

static void not_an_object(void)
{
    say("[1,2]\n");
    rest();
}

/* The environment and descriptors that it was given, as a message. */
static void show(void)
{
    extern char **environ;
    int bad = 0, open_fds = 0;
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "PMIX_", 5) == 0 || strncmp(*e, "SLURM_", 6) == 0 || strncmp(*e, "SECRET_", 7) == 0)
            bad++;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            open_fds++;
    char text[64];
    (void)snprintf(text, sizeof(text), "{\"bad\":%d,\"fds\":%d}\n", bad, open_fds);
    say(text);
    rest();
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"echo", echo},
    {"never_read", rest},
    {"flood_log", flood_log},
    {"endless_line", endless_line},
    {"flood_messages", flood_messages},
    {"close_socket", close_socket},
    {"stop_itself", stop_itself},
    {"leave_things", leave_things},
    {"exit_inside", exit_inside},
    {"crash_after_refusal", crash_after_refusal},
    {"last_words", last_words},
    {"overwrite_status", overwrite_status},
    {"not_json", not_json},
    {"not_an_object", not_an_object},
    {"show", show},
};

int main(void)
{
    const char *mode = getenv("PKB_HOSTILE");
    for (size_t i = 0; mode && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(mode, modes[i].name) == 0)
            modes[i].run();
    return 97;
}
