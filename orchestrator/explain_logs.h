/* SPDX-License-Identifier: Apache-2.0 */
/* What the log files of a run hold about a cell. */
#ifndef PKB_ORCHESTRATOR_EXPLAIN_LOGS_H
#define PKB_ORCHESTRATOR_EXPLAIN_LOGS_H

#include "orchestrator/explain.h"

/* Lines kept of each log. */
#define EXPLAIN_LOG_LINES 15

/* Fills c->logs, whose records have been read: what its runners printed; the compiler's log of a compile error; the launcher's and the
 * agents' words where there is no verdict. Logs that are missing are left out. -1 when memory runs out. */
int explain_logs_read(const struct rundir *run, struct explain_cell *c, struct pkb_error *err);

/* The part of a runners' log that belongs to cell `number`: from its "== cell N: ..." to the next such line. NULL when there is none.
 * *size becomes its size. */
const char *explain_logs_section(const char *text, uint64_t number, size_t *size);

/* The last `lines` lines of a text, printable; the caller frees. NULL when memory runs out. */
char *explain_logs_last(const char *text, size_t size, int lines);

#endif
