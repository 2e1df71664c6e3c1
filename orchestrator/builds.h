/* SPDX-License-Identifier: Apache-2.0 */
/* The build stage: all candidates that missing cells need, several at a time, into the build cache. */
#ifndef PKB_ORCHESTRATOR_BUILDS_H
#define PKB_ORCHESTRATOR_BUILDS_H

#include <stdbool.h>

#include "orchestrator/display.h"
#include "orchestrator/progress.h"
#include "orchestrator/rundir.h"
#include "orchestrator/stop.h"

/* Per candidate of the plan. */
struct builds {
    size_t n;
    char **
        failed; /* why the candidate has no build at all (source gone or changed, no compiler, disk full); NULL: it has one, or needs
                      none. A compile error is a build. */
    size_t made, cached, errors, unavailable;
};

struct builds_options {
    int jobs;           /* compilers at a time */
    size_t part, parts; /* every parts-th source from this one on, for several builders side by side; parts 0: all */
};

/* Builds. Candidates that cannot be built do not stop the others. Ends early, with what is being compiled finished, when a stop is asked
 * for; a second one ends the process. NULL on failure. */
struct builds *builds_make(const struct rundir *run, const struct progress *progress, const struct builds_options *o,
                           struct stop *stop, struct display *display, struct pkb_error *err);
void builds_destroy(struct builds *b);

#endif
