/* SPDX-License-Identifier: Apache-2.0 */
/* Exit codes of pkb, the same for every subcommand. */
#ifndef PKB_ORCHESTRATOR_EXIT_H
#define PKB_ORCHESTRATOR_EXIT_H

enum pkb_exit {
    PKB_EXIT_OK = 0,
    PKB_EXIT_INCOMPLETE = 1, /* cells lack a final result; pkb eval: the candidate is not correct */
    PKB_EXIT_USAGE = 2,      /* wrong usage or bad input: a sweep, a run directory, an option */
    PKB_EXIT_SYSTEM = 3,     /* files, processes, memory: the machine refused */
    PKB_EXIT_BUSY = 4,       /* another controller drives the run */
    PKB_EXIT_INTERRUPTED = 130
};

/* The last paragraph of a subcommand's --help: append it to argp's doc behind a "\v". */
#define PKB_EXIT_DOC                                                                                                             \
    "Exit status: 0 done; 1 cells are without a final result (pkb eval: not correct); 2 wrong usage or bad input; "              \
    "3 the system refused (files, processes, memory); 4 another controller drives the run; 130 interrupted."

#endif
