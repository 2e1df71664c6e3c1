/* SPDX-License-Identifier: Apache-2.0 */
/* The words of JSON, for results/scan.c. */
#ifndef PKB_RESULTS_SCAN_TOKEN_H
#define PKB_RESULTS_SCAN_TOKEN_H

#include "results/fields.h"

struct cursor {
    const char *start, *p, *end;
    struct pkb_error *err;
};

/* "column N: what"; -1. */
int cursor_error(struct cursor *c, const char *what);

/* Goes past white space. */
void cursor_space(struct cursor *c);

/* Goes past white space and that character. */
int token_expect(struct cursor *c, char what);

/* A string, validated; v->text is its inside as written. */
int token_string(struct cursor *c, struct value *v);

/* A string, number, true, false or null. Numbers are converted when `convert` is set, else only their form is checked. */
int token_scalar(struct cursor *c, struct value *v, bool convert);

#endif
