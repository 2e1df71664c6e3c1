/* SPDX-License-Identifier: Apache-2.0 */
/* What the comment on top of a problem's source leaves to headers of its family: it names them ("problems/fsdp_zero/adam.h", or
 * "adam.h" for one beside it), and the comments on top of those belong to the description, as do those of the headers that they
 * name. */
#ifndef PKB_ORCHESTRATOR_PROBLEM_NOTES_H
#define PKB_ORCHESTRATOR_PROBLEM_NOTES_H

#include "util/error.h"

#define PROBLEM_NOTES_MAX 16

struct problem_note {
    char *path; /* relative to the source tree */
    char *text; /* the comment */
};

struct problem_notes {
    int count;
    struct problem_note note[PROBLEM_NOTES_MAX];
};

/* Reads the notes of a source at `path`, whose text is given. 0, or -1 when a header cannot be read, there are too many, or memory runs
 * out; *n is to be released in any case. */
int problem_notes_read(const char *path, const char *source, struct problem_notes *n, struct pkb_error *err);
void problem_notes_release(struct problem_notes *n);

#endif
