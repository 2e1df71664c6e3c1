/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/agent.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

const char *agent_device(const struct agent *a, const struct plan_setting *s)
{
    return a->options.device ? a->options.device : s->device;
}

int agent_end(struct agent *a, enum agent_exit code, struct pkb_error *err, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list args;
    if (a->code != AGENT_EXIT_DONE)
        return -1;
    a->code = code;
    if (code == AGENT_EXIT_LOST && a->world && rounds_lost_code(a->world->rounds) > 0)
        a->code = (enum agent_exit)rounds_lost_code(a->world->rounds);
    if (!fmt)
        return -1;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return pkb_error_set(err, "%s", text);
}

int agent_signals(struct agent *a, struct pkb_error *err)
{
    struct signalfd_siginfo info;
    while (read(a->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGUSR1)
            return agent_end(a, AGENT_EXIT_STOPPED, err, "stopped by signal %u (%s)", info.ssi_signo,
                             strsignal((int)info.ssi_signo));
        if (!a->drain)
            (void)fprintf(stderr, "pkb-agent: SIGUSR1: stops after this cell\n");
        a->drain = true;
    }
    return 0;
}

int agent_wait(struct agent *a, struct pkb_error *err)
{
    for (;;) {
        int event = rounds_progress(a->world->rounds, err);
        if (event < 0)
            return agent_end(a, AGENT_EXIT_LOST, err, NULL);
        if (event == ROUNDS_REPLY)
            return 0;
        struct pollfd fds[2] = {rounds_pollfd(a->world->rounds), {.fd = a->signal_fd, .events = POLLIN}};
        if (event == ROUNDS_NONE && poll(fds, 2, -1) < 0 && errno != EINTR)
            return agent_end(a, AGENT_EXIT_FAILED, err, "poll failed");
        if (event == ROUNDS_NONE && fds[1].revents && agent_signals(a, err) < 0)
            return -1;
    }
}
