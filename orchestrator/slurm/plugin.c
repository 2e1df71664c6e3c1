/* SPDX-License-Identifier: Apache-2.0 */
/* plugins/launcher_slurm.so: slurm/api.h on libslurm. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "orchestrator/slurm/plugin.h"

#define EXPORT __attribute__((visibility("default")))

static void start(void)
{
    static bool started;
    if (!started)
        slurm_init(NULL);
    started = true;
}

int plugin_failed(struct pkb_error *err, const char *what)
{
    return pkb_error_set(err, "Slurm: %s: %s", what, slurm_strerror(errno));
}

/* ---- limits ---------------------------------------------------------------------------------------------------------- */

slurm_conf_t *plugin_conf(struct pkb_error *err)
{
    slurm_conf_t *conf = NULL;
    start();
    if (slurm_load_ctl_conf((time_t)0, &conf) == SLURM_SUCCESS)
        return conf;
    (void)plugin_failed(err, "cannot reach slurmctld");
    return NULL;
}

static int limits(struct slurm_limits *l, struct pkb_error *err)
{
    slurm_conf_t *conf = plugin_conf(err);
    if (!conf)
        return -1;
    l->max_array = conf->max_array_sz;
    l->max_jobs = conf->max_job_cnt;
    libslurm_free_conf(conf);
    return 0;
}

/* ---- submitting ------------------------------------------------------------------------------------------------------ */

static char *text(const char *borrowed)
{
    return (char *)(uintptr_t)borrowed; /* libslurm only packs it */
}

static void fill_place(job_desc_msg_t *d, const struct slurm_job *j)
{
    d->partition = text(j->partition);
    d->account = text(j->account);
    d->qos = text(j->qos);
    d->features = text(j->constraint);
    d->reservation = text(j->reservation);
    d->exc_nodes = text(j->exclude);
    d->min_nodes = d->max_nodes = (uint32_t)j->nodes;
    d->num_tasks = (uint32_t)j->ranks;
    d->ntasks_per_node = (uint16_t)j->ranks_per_node;
    if (j->cpus_per_rank > 0) {
        d->cpus_per_task = (uint16_t)j->cpus_per_rank;
        d->min_cpus = (uint32_t)(j->cpus_per_rank * j->ranks);
    } else {
        d->min_cpus = (uint32_t)j->ranks;
    }
    if (j->memory_mb > 0)
        d->pn_min_memory = (uint64_t)j->memory_mb;
    if (j->exclusive)
        d->shared = JOB_SHARED_NONE;
}

static void fill_life(job_desc_msg_t *d, const struct slurm_job *j)
{
    d->array_inx = text(j->array);
    d->dependency = text(j->dependency);
    d->requeue = j->requeue;
    d->open_mode = OPEN_MODE_APPEND;
    if (j->minutes > 0)
        d->time_limit = (uint32_t)j->minutes;
    if (j->signal_seconds > 0) {
        d->warn_signal = SIGUSR1;
        d->warn_time = (uint16_t)j->signal_seconds;
        d->warn_flags = KILL_JOB_BATCH;
    }
}

static void fill(job_desc_msg_t *d, const struct slurm_job *j, char *gpus, size_t size)
{
    slurm_init_job_desc_msg(d);
    d->name = text(j->name);
    d->comment = text(j->comment);
    d->script = text(j->script);
    d->work_dir = text(j->work_dir);
    d->std_out = text(j->output);
    d->user_id = geteuid();
    d->group_id = getegid();
    if (j->gpu) {
        (void)snprintf(gpus, size, "gres:%s:%d", j->gpu, j->ranks_per_node);
        d->tres_per_node = gpus;
    }
    d->environment = (char **)(uintptr_t)j->env;
    d->env_size = 0;
    while (j->env[d->env_size])
        d->env_size++;
    fill_place(d, j);
    fill_life(d, j);
}

/* What a user can do about a refusal; NULL: Slurm's words say it. */
static const char *refusal_hint(int code)
{
    switch (code) {
    case EAGAIN:
        return "as many jobs as slurmctld keeps, MaxJobCount, are there; --slurm wave=N submits fewer tasks at one time";
    case ESLURM_ACCOUNTING_POLICY:
        return "a limit of the account, the QOS or the partition; --slurm wave=N submits fewer tasks at one time";
    case ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE:
    case ESLURM_INVALID_GRES:
        return "no node of the partition has that; 'sinfo -o \"%P %N %c %m %G\"' shows what they have, and --slurm "
               "ranks_per_node=N, gpu=NAME, partition=NAME ask for something else";
    default:
        return NULL;
    }
}

static int refused(const struct slurm_job *j, struct pkb_error *err)
{
    int code = errno;
    const char *hint = refusal_hint(code);
    (void)pkb_error_set(err, "Slurm: the job was refused: %s%s%s%s", slurm_strerror(code), hint ? " (" : "", hint ? hint : "",
                        hint ? ")" : "");
    (void)pkb_error_prefix(err, "%s (nodes: %d, %s on each: %d)", j->name, j->nodes, j->gpu ? "GPUs" : "ranks",
                           j->ranks_per_node);
    return code == EAGAIN || code == SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR ? -2 : -1;
}

static int submit(const struct slurm_job *j, uint32_t *id, struct pkb_error *err)
{
    job_desc_msg_t d;
    submit_response_msg_t *answer = NULL;
    char gpus[256];
    start();
    fill(&d, j, gpus, sizeof(gpus));
    if (slurm_submit_batch_job(&d, &answer) != SLURM_SUCCESS)
        return refused(j, err);
    *id = libslurm_submitted(answer);
    slurm_free_submit_response_response_msg(answer);
    return 0;
}

/* ---- states ---------------------------------------------------------------------------------------------------------- */

const char *plugin_state_name(uint32_t state)
{
    static const char *const names[] = {
        [JOB_PENDING] = "PENDING",     [JOB_RUNNING] = "RUNNING",     [JOB_SUSPENDED] = "SUSPENDED",
        [JOB_COMPLETE] = "COMPLETED",  [JOB_CANCELLED] = "CANCELLED", [JOB_FAILED] = "FAILED",
        [JOB_TIMEOUT] = "TIMEOUT",     [JOB_NODE_FAIL] = "NODE_FAIL", [JOB_PREEMPTED] = "PREEMPTED",
        [JOB_BOOT_FAIL] = "BOOT_FAIL", [JOB_DEADLINE] = "DEADLINE",   [JOB_OOM] = "OUT_OF_MEMORY",
    };
    uint32_t base = state & JOB_STATE_BASE;
    if (state & JOB_COMPLETING)
        return "COMPLETING";
    return base < sizeof(names) / sizeof(names[0]) ? names[base] : "UNKNOWN";
}

static const char *reason_text(const slurm_job_info_t *job)
{
    if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING || job->state_reason == WAIT_NO_REASON)
        return "";
    return libslurm_reason(job->state_reason);
}

static double run_seconds(const slurm_job_info_t *job)
{
    uint32_t base = job->job_state & JOB_STATE_BASE;
    time_t end = base == JOB_RUNNING || base == JOB_SUSPENDED ? time(NULL) : job->end_time;
    return base != JOB_PENDING && job->start_time > 0 && end > job->start_time ? difftime(end, job->start_time) : 0;
}

static void visit_job(const slurm_job_info_t *job, slurm_visit_fn *visit, void *arg)
{
    char index[16] = "";
    uint32_t base = job->job_state & JOB_STATE_BASE;
    if (job->array_task_id != NO_VAL)
        (void)snprintf(index, sizeof(index), "%u", job->array_task_id);
    struct slurm_state s = {
        .job = job->array_job_id ? job->array_job_id : job->job_id,
        .elements = job->array_task_str ? job->array_task_str : index,
        .state = plugin_state_name(job->job_state),
        .pending = base == JOB_PENDING,
        .preempted = base == JOB_RUNNING && job->preempt_time != 0,
        .active = base < JOB_COMPLETE || (job->job_state & (JOB_COMPLETING | JOB_REQUEUE)) != 0,
        .reason = reason_text(job),
        .restarts = (int)job->restart_cnt,
        .start = base == JOB_PENDING ? 0 : job->start_time,
        .seconds = run_seconds(job),
        .nodes = job->nodes ? job->nodes : "",
    };
    visit(arg, &s);
}

static int states(uint32_t id, slurm_visit_fn *visit, void *arg, struct pkb_error *err)
{
    job_info_msg_t *info = NULL;
    start();
    (void)setenv("SLURM_BITSTR_LEN", "0", 0); /* else lists of elements are cut */
    if (slurm_load_job(&info, id, SHOW_ALL) != SLURM_SUCCESS) {
        if (errno == ESLURM_INVALID_JOB_ID)
            return 0;
        (void)plugin_failed(err, "cannot ask slurmctld");
        return pkb_error_prefix(err, "job %u", id);
    }
    for (uint32_t i = 0; i < info->record_count; i++)
        visit_job(&info->job_array[i], visit, arg);
    slurm_free_job_info_msg(info);
    return 0;
}

static int cancel(const char *job, struct pkb_error *err)
{
    start();
    if (slurm_kill_job2(job, SIGKILL, 0, NULL) == SLURM_SUCCESS)
        return 0;
    int code = errno;
    if (code == ESLURM_ALREADY_DONE || code == ESLURM_INVALID_JOB_ID)
        return 0;
    (void)plugin_failed(err, "cannot cancel");
    return pkb_error_prefix(err, "job %s", job);
}

extern const struct slurm_api pkb_slurm_api;
EXPORT const struct slurm_api pkb_slurm_api = {
    .version = SLURM_API_VERSION,
    .library = "libslurm",
    .limits = limits,
    .submit = submit,
    .states = states,
    .past = plugin_past,
    .cancel = cancel,
};
