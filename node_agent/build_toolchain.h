/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that find compilers share; nobody else includes this. */
#ifndef PKB_NODE_AGENT_BUILD_TOOLCHAIN_H
#define PKB_NODE_AGENT_BUILD_TOOLCHAIN_H

#include "node_agent/build.h"

/* The absolute path of a program; the caller frees. */
char *toolchain_on_path(const char *name, struct pkb_error *err);

/* The same, but an environment variable may name another one; `what` is for the error ("C compiler"). */
char *toolchain_program(const char *variable, const char *name, const char *what, struct pkb_error *err);

/* The beginning of what a program answers to an option; the caller frees. */
char *toolchain_ask(const char *program, const char *option, struct pkb_error *err);

/* The first line of --version that has the word in it. */
char *toolchain_version(const char *compiler, const char *word, struct pkb_error *err);

/* Appends a copy. */
int toolchain_add_flag(struct build_toolchain *t, const char *flag, struct pkb_error *err);

/* Everything of kind cu but the header (node_agent/build_cuda.c). */
int toolchain_fill_cuda(struct build_toolchain *t, struct pkb_error *err);

/* Appends the -gencode flags for a list of architectures, numbers with an optional letter: "80,90a". */
int toolchain_add_archs(struct build_toolchain *t, const char *list, struct pkb_error *err);

#endif
