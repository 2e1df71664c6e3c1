/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/display.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/clock.h"

#define LINE_NS (10LL * 1000000000) /* between plain lines */
#define STEP_NS (2LL * 1000000000)  /* between plain lines that bring another tenth */
#define FRAME_NS (100LL * 1000000)  /* between updates of a terminal's line */
#define DEFAULT_COLUMNS 80

void display_init(struct display *d, bool quiet)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    *d = (struct display){.quiet = quiet};
    d->terminal = isatty(STDERR_FILENO) && (!term || strcmp(term, "dumb") != 0);
    d->color = d->terminal && !(no_color && no_color[0]);
    display_start(d, 0);
}

void display_end(struct display *d)
{
    if (d->open)
        (void)fputc('\n', stderr);
    d->open = false;
}

void display_say(struct display *d, const char *fmt, ...)
{
    va_list ap;
    if (d->quiet)
        return;
    display_end(d);
    (void)fputs("pkb: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

void display_warn(struct display *d, const char *fmt, ...)
{
    va_list ap;
    display_end(d);
    (void)fputs(d->color ? "pkb: \033[33mwarning:\033[0m " : "pkb: warning: ", stderr);
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap);
    va_end(ap);
    (void)fputc('\n', stderr);
}

void display_start(struct display *d, uint64_t done)
{
    d->started = pkb_now_ns();
    d->first = done;
    d->shown = d->started;
    d->shown_tenths = 0;
    d->shown_done = UINT64_MAX;
}

void display_duration(double seconds, char *text, unsigned long size)
{
    long s = seconds < 0 ? 0 : seconds > 1e9 ? 1000000000L : (long)(seconds + 0.5);
    if (s < 60)
        (void)snprintf(text, size, "%lds", s);
    else if (s < 3600)
        (void)snprintf(text, size, "%ldm%02lds", s / 60, s % 60);
    else if (s < 86400)
        (void)snprintf(text, size, "%ldh%02ldm", s / 3600, s / 60 % 60);
    else
        (void)snprintf(text, size, "%ldd%02ldh", s / 86400, s / 3600 % 24);
}

static void remaining(const struct display *d, uint64_t done, uint64_t total, char *text, size_t size)
{
    char duration[32];
    text[0] = '\0';
    if (done <= d->first || done >= total)
        return;
    double spent = (double)(pkb_now_ns() - d->started) / 1e9;
    display_duration(spent / (double)(done - d->first) * (double)(total - done), duration, sizeof(duration));
    (void)snprintf(text, size, ", ETA %s", duration);
}

static void draw(struct display *d, const char *line)
{
    struct winsize w = {0};
    int columns = DEFAULT_COLUMNS;
    if (!d->terminal) {
        (void)fprintf(stderr, "pkb: %s\n", line);
        return;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 8)
        columns = w.ws_col;
    (void)fprintf(stderr, d->color ? "\r\033[K\033[36m%.*s\033[0m" : "\r\033[K%.*s", columns - 1, line);
    (void)fflush(stderr);
    d->open = true;
}

static bool is_due(struct display *d, uint64_t done, uint64_t total)
{
    int64_t now = pkb_now_ns();
    uint64_t tenths = total ? (uint64_t)(10.0 * (double)done / (double)total) : 10;
    int64_t since = now - d->shown;
    bool due = done >= total && d->shown_done != done;
    if (d->terminal)
        due = due || since >= FRAME_NS;
    else
        due = due || (done < total && since >= LINE_NS) || (done < total && since >= STEP_NS && tenths > d->shown_tenths);
    if (due) {
        d->shown = now;
        d->shown_tenths = tenths;
        d->shown_done = done;
    }
    return due;
}

void display_progress(struct display *d, uint64_t done, uint64_t total, const char *what, const char *detail)
{
    char eta[64], line[1024];
    if (d->quiet || !is_due(d, done, total))
        return;
    remaining(d, done, total, eta, sizeof(eta));
    (void)snprintf(line, sizeof(line), "%llu of %llu %s (%.0f %%)%s%s%s", (unsigned long long)done, (unsigned long long)total,
                   what, total ? 100.0 * (double)done / (double)total : 100.0, eta, detail[0] ? ": " : "", detail);
    draw(d, line);
}
