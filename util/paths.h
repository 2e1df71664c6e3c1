/* SPDX-License-Identifier: Apache-2.0 */
/* Where pkb's own parts are: next to each other in a build tree, else where they were installed.
 *
 * A program runs from the build tree when a folder above its executable holds the file `pkb-build-tree`, which configure
 * writes with the source folder's path in it. */
#ifndef PKB_UTIL_PATHS_H
#define PKB_UTIL_PATHS_H

#include "util/error.h"

enum pkb_path {
    PKB_PATH_BIN,     /* pkb */
    PKB_PATH_LIBEXEC, /* pkb-agent, pkb-runner, pkb-launch-local */
    PKB_PATH_PLUGIN,  /* backend_host.so, ... */
    PKB_PATH_INCLUDE, /* the folder to put behind -I for <pkb/candidate.h> */
    PKB_PATH_SHARE,   /* sweeps/, problems/ (reference sources), examples/ */
};

/* The path of `name` in that place ("" gives the folder). The caller frees. NULL with the error set when memory runs out. It is not
 * checked that it exists. */
char *pkb_path(enum pkb_path place, const char *name, struct pkb_error *err);

#endif
