/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/command.h"
#include "orchestrator/engine.h"
#include "results/report.h"

static int print_summary(const struct engine *e, struct pkb_error *err)
{
    json_t *v = engine_summary(e);
    if (!v)
        return pkb_error_set(err, "out of memory");
    int rc = command_print_json(v, 0, err);
    json_decref(v);
    return rc;
}

/* The tables, unless there is no merged result to make them from. */
static int print_tables(const struct engine *e, struct pkb_error *err)
{
    struct report_options o = {.format = REPORT_TEXT, .colour = report_wants_colour(stdout)};
    if (!e->merged)
        return 0;
    return report_print_summary(e->run->path, stdout, &o, err);
}

int engine_command(const struct engine_options *o, const struct engine_stage *stages)
{
    struct engine e;
    struct pkb_error err;
    engine_init(&e, o);
    int code = engine_go(&e, stages);
    int rc = o->json ? print_summary(&e, &err) : print_tables(&e, &err);
    engine_conclude(&e);
    if (rc < 0)
        code = command_fail(PKB_EXIT_SYSTEM, &err);
    engine_destroy(&e);
    return code;
}
