/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/stop.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int catch (struct stop *s, bool drain, struct pkb_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGHUP);
    if (drain)
        (void)sigaddset(&set, SIGUSR1);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return pkb_error_errno(err, "sigprocmask");
    int fd = signalfd(s->fd, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return pkb_error_errno(err, "signalfd");
    s->fd = fd;
    return 0;
}

int stop_open(struct stop *s, struct pkb_error *err)
{
    *s = STOP_NONE;
    (void)signal(SIGPIPE, SIG_IGN);
    return catch (s, false, err);
}

int stop_catch_drain(struct stop *s, struct pkb_error *err)
{
    return catch (s, true, err);
}

bool stop_take_drain(struct stop *s)
{
    bool now = s->drain && !s->drain_taken;
    s->drain_taken = s->drain_taken || now;
    return now;
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
        if (info.ssi_signo == SIGUSR1)
            s->drain = true;
        else if (s->count++ == 0)
            s->signal = (int)info.ssi_signo;
    }
    return s->count > 0;
}
