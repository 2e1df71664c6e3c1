/* SPDX-License-Identifier: Apache-2.0 */
/* What a command says on standard error while it works: on a terminal one line that is rewritten, elsewhere plain lines, one
 * every 10 seconds, or for every 10 per cent that take 2 seconds or more. Colours only on a terminal and without NO_COLOR. */
#ifndef PKB_ORCHESTRATOR_DISPLAY_H
#define PKB_ORCHESTRATOR_DISPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct display {
    bool quiet, terminal, color;
    bool open;             /* the terminal's last line is a progress line */
    int64_t started;       /* of what is being counted, ns */
    uint64_t first;        /* how much was done then */
    int64_t shown;         /* last time, ns */
    uint64_t shown_tenths; /* last share, of ten */
    uint64_t shown_done;   /* last number */
};

void display_init(struct display *d, bool quiet);

/* A line of its own, unless quiet. */
void display_say(struct display *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A warning: shown even when quiet. */
void display_warn(struct display *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Starts counting: `done` of what follows was done before. */
void display_start(struct display *d, uint64_t done);

/* "12 of 90 cells (13 %), ETA 1m20s: correct 9, crash 1"; rate-limited unless all is done. */
void display_progress(struct display *d, uint64_t done, uint64_t total, const char *what, const char *detail);

/* Ends the progress line of a terminal. */
void display_end(struct display *d);

/* "45s", "3m20s", "2h05m", "3d04h" */
void display_duration(double seconds, char *text, unsigned long size);

#endif
