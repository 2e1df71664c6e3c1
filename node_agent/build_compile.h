/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the compiler, inside a folder of its own. Only the build cache includes it. */
#ifndef PKB_NODE_AGENT_BUILD_COMPILE_H
#define PKB_NODE_AGENT_BUILD_COMPILE_H

#include "node_agent/build.h"

/* Names inside the folder. */
#define BUILD_OBJECT "object.so"
#define BUILD_LOG "log"
#define BUILD_SASS "sass"
#define BUILD_SCRATCH "scratch" /* a folder for the compiler's temporaries */

struct build_compiled {
    bool ok;
    char detail[512]; /* when not ok: the first error */
    double seconds;
};

/* The source's name inside the folder: candidate.c, candidate.cu. */
const char *build_source_name(const struct build_toolchain *t);

/* Compiles FOLDER/candidate.c to FOLDER/object.so with FOLDER/log, FOLDER/scratch/ and, if it can be had, FOLDER/sass. 0, or -1 when it says nothing about the source. */
int build_compile(const struct build_toolchain *t, const char *folder, struct build_compiled *c, struct pkb_error *err);

/* The command line, NULL-terminated: a new array of borrowed strings. `include` must stay. */
const char **build_command(const struct build_toolchain *t, struct pkb_error *err);

#endif
