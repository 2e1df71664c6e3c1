/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/stop.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int stop_open(struct stop *s, struct pkb_error *err)
{
    sigset_t set;
    *s = STOP_NONE;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return pkb_error_errno(err, "sigprocmask");
    s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->fd < 0 ? pkb_error_errno(err, "signalfd") : 0;
}

void stop_close(struct stop *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = -1;
}

bool stop_asked(struct stop *s)
{
    struct signalfd_siginfo info;
    while (s->fd >= 0 && read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (s->count++ == 0)
            s->signal = (int)info.ssi_signo;
    }
    return s->count > 0;
}
