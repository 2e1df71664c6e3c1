/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of pkb. A new one is a file cmd_NAME.c with `int cmd_NAME(int argc, char **argv)`, its declaration here and a
 * row of the table in main.c.
 *
 * argv[0] is "pkb NAME", for argp's messages. The return value is the exit code (orchestrator/exit.h). */
#ifndef PKB_ORCHESTRATOR_COMMAND_H
#define PKB_ORCHESTRATOR_COMMAND_H

#include "orchestrator/exit.h"
#include "util/error.h"

int cmd_cancel(int argc, char **argv);
int cmd_census(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_problems(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_roofline(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_watch(int argc, char **argv);

/* Prints "pkb: TEXT" to standard error and returns the code. */
int command_fail(enum pkb_exit code, const struct pkb_error *err);

/* Prints one line of JSON or, when `pretty`, indented, and flushes. 0, or -1 when standard output cannot be written. */
struct json_t;
int command_print_json(const struct json_t *value, int pretty, struct pkb_error *err);

#endif
