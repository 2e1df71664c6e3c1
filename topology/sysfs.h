/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the small files of sysfs, below a root folder. Nothing here is an error: a file that is not there says nothing. */
#ifndef PKB_TOPOLOGY_SYSFS_H
#define PKB_TOPOLOGY_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#define SYSFS_TEXT 256

/* The first line of a file. False: there is none, or it is empty. */
bool sysfs_text(const char *root, const char *path, char *text, size_t size);

/* The same as a number ("0x10de", "12"); `fallback` where it is none. */
long sysfs_number(const char *root, const char *path, long fallback);

/* Calls `visit` with the name of every entry of a folder, sorted. */
typedef void sysfs_visit_fn(void *arg, const char *name);
void sysfs_each(const char *root, const char *path, sysfs_visit_fn *visit, void *arg);

/* Calls `visit` with every number of a list like "0-3,8"; at most `limit` of them. Returns how many. */
typedef void sysfs_number_fn(void *arg, int number);
int sysfs_list(const char *text, int limit, sysfs_number_fn *visit, void *arg);

#endif
