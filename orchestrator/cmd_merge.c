/* SPDX-License-Identifier: Apache-2.0 */
/* pkb merge: RUN/records -> RUN/results.db. */
#include <argp.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/rundir.h"
#include "results/merge.h"

struct arguments {
    const char *run;
    bool json, whole;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;
    switch (key) {
    case 'j':
        a->json = true;
        return 0;
    case 'w':
        a->whole = true;
        return 0;
    default:
        return option_run(key, arg, state, &a->run);
    }
}

static void print_bad(const char *what, int64_t n)
{
    if (n > 0)
        printf("  %" PRId64 " %s\n", n, what);
}

static void print_text(const char *run, const struct merge_summary *s)
{
    printf("%s/results.db: %" PRId64 " of %" PRId64 " cells have a result", run, s->done, s->cells);
    printf(" (%" PRId64 " records, %" PRId64 " baselines, %" PRId64 " files)\n", s->cell_records, s->baseline_records, s->files);
    print_bad("cells are missing", s->missing);
    print_bad("cells ended in infra_error", s->infra_error);
    print_bad("cells were not run", s->not_run);
    print_bad("cells share the result of a cell with the same source", s->shared);
    print_bad("results of cells that had one are ignored", s->duplicates);
    print_bad("of them disagree with the one that counts", s->disagreeing);
    print_bad("incomplete last lines", s->torn);
    print_bad("malformed lines", s->malformed);
    print_bad("lines of an unknown schema or kind", s->schema);
    print_bad("lines or files that do not belong to this run", s->foreign);
    print_bad("files cannot be read", s->unreadable);
    if (s->torn + s->malformed + s->schema + s->foreign + s->unreadable > 0)
        printf("  which and why: sqlite3 %s/results.db 'SELECT * FROM problems_found'\n", run);
    if (s->done < s->cells)
        printf("next: pkb resume %s\n", run);
}

static int print(const struct arguments *a, const struct merge_summary *s)
{
    struct pkb_error err;
    if (!a->json) {
        print_text(a->run, s);
        return s->done < s->cells ? PKB_EXIT_INCOMPLETE : PKB_EXIT_OK;
    }
    json_t *value = merge_summary_json(s);
    int rc = value ? command_print_json(value, 0, &err) : pkb_error_set(&err, "out of memory");
    json_decref(value);
    if (rc < 0)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    return s->done < s->cells ? PKB_EXIT_INCOMPLETE : PKB_EXIT_OK;
}

int cmd_merge(int argc, char **argv)
{
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "Print the counts as JSON", 0},
                                                 {"whole", 'w', NULL, 0, "Read all records again, not only what is new", 0},
                                                 {0}};
    static const struct argp argp = {options,
                                     parse,
                                     "RUN",
                                     "Builds RUN/results.db, a SQLite file, from the plan and the records of a run. It can be "
                                     "repeated at any time, also while "
                                     "the run is in progress; malformed lines are listed in its table problems_found, never "
                                     "dropped in silence.\v" PKB_EXIT_DOC,
                                     NULL,
                                     NULL,
                                     NULL};
    struct arguments a = {0};
    struct merge_summary s;
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    struct rundir *run = rundir_open(a.run, &err);
    if (!run)
        return command_fail(PKB_EXIT_USAGE, &err);
    int rc = a.whole ? merge_run_whole(run->path, &s, &err) : merge_run(run->path, &s, &err);
    rundir_destroy(run);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, &err) : print(&a, &s);
}
