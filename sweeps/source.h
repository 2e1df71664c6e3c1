/* SPDX-License-Identifier: Apache-2.0 */
/* Where a field of sweep { ... } is written: Lua keeps no line numbers of a table's entries, so the text is searched for them. */
#ifndef PKB_SWEEPS_SOURCE_H
#define PKB_SWEEPS_SOURCE_H

#include <stddef.h>

/* The line of `field = ...` in the braces that follow the call of sweep in line `call_line`; with `entry`, the line of that text
 * within the field's value. What is not written there literally (a field set by code, a computed text) gives the next best
 * line: of the field, else call_line. */
int sweep_source_line(const char *text, size_t size, int call_line, const char *field, const char *entry);

#endif
