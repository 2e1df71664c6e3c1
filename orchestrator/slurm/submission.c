/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/submission.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/slurm/script.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/paths.h"

#define MERGE_MINUTES 60
#define RETRY_SECONDS 120       /* of a job that Slurm does not take now */
#define WAVE_RETRY_SECONDS 1800 /* in the job that submits the next wave: nobody is there to try again */
#define FIRST_PAUSE_MS 500
#define LAST_PAUSE_MS 10000
#define BUILD_MINUTES 240 /* what is not compiled by then is compiled by the agents that need it */

/* ---- what jobs get to see of the environment -------------------------------------------------------------------------- */

static bool wanted(const char *variable)
{
    static const char *const list[] = {"PATH=",
                                       "HOME=",
                                       "USER=",
                                       "LOGNAME=",
                                       "SHELL=",
                                       "LANG=",
                                       "LD_LIBRARY_PATH=",
                                       "MODULEPATH=",
                                       "TMPDIR=",
                                       "CPATH=",
                                       "CC=",
                                       "PKB_",
                                       "UCX_",
                                       "NCCL_",
                                       "CUDA_HOME=",
                                       "CUDA_LAUNCH_BLOCKING=",
                                       "CUDA_DEVICE_MAX_CONNECTIONS="};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strncmp(variable, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

int submission_make_env(struct words *env, struct pkb_error *err)
{
    extern char **environ;
    if (words_add(env, err, "PKB_JOB=1") < 0)
        return -1;
    for (size_t i = 0; environ[i]; i++)
        if (wanted(environ[i]) && words_add(env, err, "%s", environ[i]) < 0)
            return -1;
    return 0;
}

/* ---- one job ---------------------------------------------------------------------------------------------------------- */

/* A path as Slurm's file name patterns take it. */
static char *output_pattern(const char *run, const char *name, struct pkb_error *err)
{
    char *text = malloc(2 * strlen(run) + strlen(name) + 16), *to = text;
    if (!text) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    for (const char *p = run; *p; p++) {
        *to++ = *p;
        if (*p == '%')
            *to++ = '%';
    }
    (void)sprintf(to, "/logs/%s", name);
    return text;
}

static double retry_seconds(const struct submission *s)
{
    const char *text = getenv("PKB_SUBMIT_RETRY_SECONDS");
    char *end = NULL;
    double value = text ? strtod(text, &end) : -1;
    if (text && end != text && *end == '\0' && value >= 0)
        return value;
    return s->e->o->untried ? WAVE_RETRY_SECONDS : RETRY_SECONDS;
}

/* As sbatch does: what Slurm has no room for now, it may take a little later. */
static int submit_patiently(const struct submission *s, const struct slurm_job *job, uint32_t *id, struct pkb_error *err)
{
    int64_t until = pkb_now_ns() + (int64_t)(retry_seconds(s) * 1e9);
    int ms = FIRST_PAUSE_MS, rc;
    while ((rc = s->l->api->submit(job, id, err)) == -2 && pkb_now_ns() < until && !stop_asked(&s->e->stop)) {
        struct pollfd p = {.fd = s->e->stop.fd, .events = POLLIN};
        if (ms == FIRST_PAUSE_MS)
            display_warn(&s->e->display, "%s; trying again", err->text);
        (void)poll(&p, 1, ms);
        ms = ms < LAST_PAUSE_MS ? 2 * ms : ms;
    }
    return rc < 0 ? -1 : 0;
}

int submission_send(struct submission *s, struct slurm_job *job, const char *title, const struct words *command,
                    struct slurm_jobs_entry *entry, struct pkb_error *err)
{
    const struct slurm_settings *set = &s->l->settings;
    const char *run = s->e->run->path;
    char *jobs = pkb_format(err, "%s/jobs", run);
    char *file = pkb_format(err, "jobs/%03zu-%s.sh", slurm_jobs_count(s->l->jobs), slurm_jobs_kind_name(entry->kind));
    char *path = file ? pkb_format(err, "%s/%s", run, file) : NULL;
    char *output = output_pattern(run, job->array ? "slurm-%A_%a.log" : "slurm-%j.log", err);
    int rc = -1;
    job->output = output;
    job->work_dir = run;
    job->env = words_argv(&s->env);
    char *script = path && output ? slurm_script_make(job, title, &set->prolog, command, err) : NULL;
    job->script = script;
    if (script && jobs && pkb_mkdirs(jobs, err) == 0 && pkb_file_write(path, script, strlen(script), err) == 0 &&
        submit_patiently(s, job, &entry->job, err) == 0)
        rc = slurm_jobs_add(s->l->jobs, run, entry, file, err);
    free(script);
    free(output);
    free(path);
    free(file);
    free(jobs);
    return rc;
}

void submission_fill(const struct submission *s, struct slurm_job *job)
{
    const struct slurm_settings *set = &s->l->settings;
    job->account = set->account;
    job->qos = set->qos;
    job->reservation = set->reservation;
    job->exclude = s->exclude[0] ? s->exclude : NULL;
    job->requeue = set->requeue;
    job->comment = s->e->run->path;
}

/* ---- build ----------------------------------------------------------------------------------------------------------- */

/* Candidates of cells without a result. */
static size_t count_candidates(const struct engine *e, struct pkb_error *err)
{
    const struct plan *p = e->plan;
    bool *needed = calloc(p->n_candidates + 1, sizeof(*needed));
    size_t n = 0;
    if (!needed) {
        pkb_error_set(err, "out of memory");
        return SIZE_MAX;
    }
    for (size_t i = 0; i < p->n_cells; i++) {
        uint8_t o = e->progress->outcome[i];
        bool *one = &needed[p->cells[i].candidate];
        bool open = o >= OUTCOME_COUNT || !outcome_is_final((enum outcome)o);
        n += open && !*one;
        *one = *one || open;
    }
    free(needed);
    return n;
}

/* Not more tasks than have something to do for each of their processors, or than an array may have. */
static int count_tasks(const struct slurm_launch *l, size_t candidates)
{
    size_t cpus = (size_t)l->settings.build_cpus, most = (size_t)l->settings.build_tasks;
    size_t full = (candidates + cpus - 1) / cpus;
    most = most < l->limits.max_array ? most : l->limits.max_array;
    return (int)(full < most ? full : most);
}

static int build_command(const struct submission *s, int tasks, struct words *command, struct pkb_error *err)
{
    char *program = pkb_path(PKB_PATH_LIBEXEC, "pkb-slurm-task", err);
    int rc = program ? words_add(command, err, "%s", program) : -1;
    free(program);
    if (rc < 0 || words_add(command, err, "--run=%s", s->e->run->path) < 0)
        return -1;
    return words_add(command, err, "--build=%d", tasks);
}

static int send_build(struct submission *s, int tasks, size_t candidates, struct pkb_error *err)
{
    const struct slurm_settings *set = &s->l->settings;
    struct slurm_job job = {
        .nodes = 1, .ranks = 1, .ranks_per_node = 1, .cpus_per_rank = set->build_cpus, .minutes = BUILD_MINUTES};
    struct slurm_jobs_entry entry = {.kind = SLURM_JOBS_BUILD};
    struct words command = WORDS_NONE;
    char *name = pkb_format(err, "pkb-%s-build", s->e->run->name);
    char *title = pkb_format(err, "pkb: compiles candidates of the run %s", s->e->run->path);
    char *array = pkb_format(err, "0-%d", tasks - 1);
    int rc = -1;
    submission_fill(s, &job);
    job.name = name;
    job.array = array;
    job.partition = set->cpu_partition ? set->cpu_partition : set->partition;
    entry.array = array;
    if (name && title && array && build_command(s, tasks, &command, err) == 0)
        rc = submission_send(s, &job, title, &command, &entry, err);
    if (rc == 0)
        s->after_build = pkb_format(err, "afterany:%u", entry.job);
    if (rc == 0)
        display_say(&s->e->display, "job %u: %d task%s compile %zu candidates", entry.job, tasks, tasks == 1 ? "" : "s",
                    candidates);
    words_clear(&command);
    free(array);
    free(title);
    free(name);
    return rc < 0 || !s->after_build ? -1 : 0;
}

int submission_build(struct submission *s, struct pkb_error *err)
{
    if (!slurm_settings_build_by_jobs(&s->l->settings))
        return 0;
    size_t candidates = count_candidates(s->e, err);
    if (candidates == SIZE_MAX)
        return -1;
    return candidates == 0 ? 0 : send_build(s, count_tasks(s->l, candidates), candidates, err);
}

/* ---- merge ----------------------------------------------------------------------------------------------------------- */

/* What comes after the arrays. */
static int last_command(const struct submission *s, struct words *command, struct pkb_error *err)
{
    static const char *const merge[] = {"merge"};
    static const char *const next[] = {"resume", "--launcher=slurm", "--untried", "--quiet"};
    const char *const *words = s->left > 0 ? next : merge;
    size_t n = s->left > 0 ? sizeof(next) / sizeof(next[0]) : 1;
    char *program = pkb_path(PKB_PATH_BIN, "pkb", err);
    int rc = program ? words_add(command, err, "%s", program) : -1;
    free(program);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = words_add(command, err, "%s", words[i]);
    return rc < 0 ? -1 : words_add(command, err, "%s", s->e->run->path);
}

int submission_merge(struct submission *s, struct pkb_error *err)
{
    const struct slurm_settings *set = &s->l->settings;
    struct slurm_job job = {.nodes = 1, .ranks = 1, .ranks_per_node = 1, .minutes = MERGE_MINUTES, .dependency = s->after};
    struct slurm_jobs_entry entry = {.kind = SLURM_JOBS_MERGE, .array = ""};
    struct words command = WORDS_NONE;
    char *name = pkb_format(err, "pkb-%s-%s", s->e->run->name, s->left > 0 ? "next" : "merge");
    char *title = pkb_format(err, "pkb: %s the run %s", s->left > 0 ? "submits the next tasks of" : "merges the records of",
                             s->e->run->path);
    int rc = -1;
    submission_fill(s, &job);
    job.name = name;
    job.partition = set->cpu_partition ? set->cpu_partition : set->partition;
    if (name && title && last_command(s, &command, err) == 0)
        rc = submission_send(s, &job, title, &command, &entry, err);
    words_clear(&command);
    free(title);
    free(name);
    return rc;
}
