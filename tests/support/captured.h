/* SPDX-License-Identifier: Apache-2.0 */
/* Captured trees of sysfs: tests/topology/NAME.tree holds one file per line, "PATH<tab>TEXT"; lines with '#' are comments. */
#ifndef PKB_TESTS_CAPTURED_H
#define PKB_TESTS_CAPTURED_H

/* The source folder tests/topology; the caller frees. */
char *captured_folder(void);

/* Unpacks NAME.tree into an empty folder. Fails the test when it cannot. */
void captured_unpack(const char *name, const char *folder);

#endif
