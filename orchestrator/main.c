/* SPDX-License-Identifier: Apache-2.0 */
/* pkb: the table of subcommands. */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "orchestrator/command.h"
#include "util/file.h"
#include "util/suggest.h"

static const struct command {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
} commands[] = {
    {"plan", "what a sweep would run, and what is left out and why", cmd_plan},
    {"run", "run a sweep and print its tables", cmd_run},
    {"resume", "evaluate what a run still lacks", cmd_resume},
    {"status", "how far a run is", cmd_status},
    {"watch", "the status of a run until it is done", cmd_watch},
    {"explain", "why a cell has its outcome, and whose fault it is", cmd_explain},
    {"cancel", "cancel the jobs of a run", cmd_cancel},
    {"report", "the tables of a run: pass@k, fast1@k, outcomes, problems", cmd_report},
    {"merge", "build the results.db of a run from its records", cmd_merge},
    {"eval", "one candidate, one problem, immediate verdict", cmd_eval},
    {"problems", "list the problems, or show one", cmd_problems},
    {"roofline", "how close a run's candidates are to the hardware", cmd_roofline},
    {"census", "by which means a run's candidates move data", cmd_census},
    {"topo", "descriptions of machines: list, show, validate, discover", cmd_topo},
    {"doctor", "what would make a sweep fail here, and what to do about it", cmd_doctor},
    {"version", "versions of pkb and of the libraries it uses", cmd_version},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_usage(FILE *out)
{
    (void)fprintf(out, "Usage: pkb COMMAND [OPTION...]\n\n"
                       "Evaluates multi-GPU kernels: correct? faster than the reference? close to the hardware?\n\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    (void)fprintf(out, "\n'pkb COMMAND --help' explains a command and its exit status.\n");
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[N_COMMANDS];
    struct pkb_error err;
    for (size_t i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = pkb_suggest(name, names, N_COMMANDS);
    if (near)
        pkb_error_set(&err, "unknown command '%s'; did you mean '%s'?", name, near);
    else
        pkb_error_set(&err, "unknown command '%s'; 'pkb --help' lists them", name);
    return command_fail(PKB_EXIT_USAGE, &err);
}

static int run(const struct command *c, int argc, char **argv)
{
    struct pkb_error err;
    char title[64];
    (void)snprintf(title, sizeof(title), "pkb %s", c->name);
    argv[0] = title;
    int code = c->run(argc, argv);
    if (fflush(stdout) == EOF || ferror(stdout)) {
        pkb_error_errno(&err, "cannot write to standard output");
        return command_fail(PKB_EXIT_SYSTEM, &err);
    }
    return code;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    argp_err_exit_status = PKB_EXIT_USAGE;
    if (!name[0]) {
        print_usage(stderr);
        return PKB_EXIT_USAGE;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
        name = "version";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_usage(stdout);
        return PKB_EXIT_OK;
    }
    if (strcmp(name, "help") == 0) { /* pkb help COMMAND */
        static char help[] = "--help";
        name = argv[2];
        argv[2] = help;
    }
    const struct command *c = find(name);
    return c ? run(c, argc - 1, argv + 1) : unknown(name);
}
