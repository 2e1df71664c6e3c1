/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stdio.h>

#include "orchestrator/command.h"
#include "orchestrator/options.h"
#include "orchestrator/rundir.h"
#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/queue.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    return option_run(key, arg, state, state->input);
}

static const struct argp argp = {
    NULL,
    parse,
    "RUN",
    "Cancels the jobs that were submitted for a run. What is recorded stays, and 'pkb resume RUN' submits "
    "the rest.\v" PKB_EXIT_DOC,
    NULL,
    NULL,
    NULL};

/* Jobs that are pending or run; how many were cancelled, or -1. */
static int cancel_active(const struct slurm_api *api, const struct slurm_queue *q, struct pkb_error *err)
{
    int n = 0;
    for (size_t i = 0; i < q->n; i++) {
        char name[32];
        if (q->list[i].pending + q->list[i].running == 0)
            continue;
        (void)snprintf(name, sizeof(name), "%u", q->list[i].entry.job);
        if (api->cancel(name, err) < 0)
            return -1;
        n++;
    }
    return n;
}

static int cancel(const json_t *jobs, struct pkb_error *err)
{
    struct slurm_queue q;
    const struct slurm_api *api = slurm_api_load(err);
    if (!api || slurm_queue_read(api, jobs, &q, SLURM_QUEUE_PRESENT, err) < 0)
        return PKB_EXIT_SYSTEM;
    int n = cancel_active(api, &q, err);
    slurm_queue_clear(&q);
    if (n < 0)
        return PKB_EXIT_SYSTEM;
    if (n == 0)
        printf("no job of the run waits or runs\n");
    else
        printf("%d job%s cancelled\n", n, n == 1 ? "" : "s");
    return PKB_EXIT_OK;
}

int cmd_cancel(int argc, char **argv)
{
    const char *path = NULL;
    struct pkb_error err = {""};
    argp_parse(&argp, argc, argv, 0, NULL, &path);
    struct rundir *run = rundir_open(path, &err);
    json_t *jobs = run ? slurm_jobs_read(run->path, &err) : NULL;
    int code = PKB_EXIT_USAGE;
    if (jobs && slurm_jobs_count(jobs) == 0)
        pkb_error_set(&err, "%s has no jobs: it was not submitted to Slurm", path);
    else if (jobs)
        code = cancel(jobs, &err);
    json_decref(jobs);
    rundir_destroy(run);
    return code == PKB_EXIT_OK ? code : command_fail((enum pkb_exit)code, &err);
}
