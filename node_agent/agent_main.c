/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-agent: joins its world, then works through a shard. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "build-id.h"
#include "config.h"
#include "node_agent/gpu_place.h"
#include "node_agent/shard.h"
#include "util/file.h"
#include "util/json.h"
#include "util/paths.h"

#define JOIN_SECONDS 60

/* ---- options --------------------------------------------------------------------------------------------------------- */

enum { KEY_RUN = 'r', KEY_SHARD = 's', KEY_ATTEMPT = 'a', KEY_DEVICE = 'd', KEY_CELLS = 'c' };

static const struct argp_option option_table[] = {
    {"run", KEY_RUN, "DIR", 0, "Run directory", 0},
    {"shard", KEY_SHARD, "N", 0, "Number of the shard", 0},
    {"attempt", KEY_ATTEMPT, "K", 0, "Number of this attempt, from 1; each is used once", 0},
    {"device", KEY_DEVICE, "NAME", 0, "Device backend instead of the plan's", 0},
    {"cells", KEY_CELLS, "LIST", 0, "Only these cells of the shard: numbers of the plan like 3,5-9, or all (default)", 0},
    {0}};

static int number(struct argp_state *state, const char *name, const char *text, long min, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < min || value > max)
        argp_error(state, "%s: expected a number from %ld to %ld, found '%s'", name, min, max, text);
    return (int)value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct agent_options *o = state->input;
    switch (key) {
    case KEY_RUN:
        o->run = arg;
        return 0;
    case KEY_SHARD:
        o->shard = number(state, "--shard", arg, 0, 999999);
        return 0;
    case KEY_ATTEMPT:
        o->attempt = number(state, "--attempt", arg, 1, 999);
        return 0;
    case KEY_DEVICE:
        o->device = arg;
        return 0;
    case KEY_CELLS:
        o->cells = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->run || o->shard < 0 || o->attempt < 1)
            argp_error(state, "--run, --shard and --attempt are needed");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    (void)fprintf(stream, "pkb-agent %s (%s)\n", PACKAGE_VERSION, PKB_BUILD_ID);
}

static const struct argp argp = {
    option_table,
    parse,
    NULL,
    "One rank of the world that works through a shard of a run. Started by srun --mpi=pmix or pkb-launch-local, or alone for a "
    "world "
    "of one rank. Agent 0 prints one JSON line for each cell.\v"
    "Exit status: 0 all cells have a record; 2 wrong usage; 3 cannot begin or go on; 4 another agent was lost; 5 stopped by a "
    "signal; 6 drained (SIGUSR1); 7 the shard belongs to a newer attempt; 8 records cannot be written.",
    NULL,
    NULL,
    NULL};

/* ---- steps ----------------------------------------------------------------------------------------------------------- */

/* Signals arrive as reads, so that they never interrupt anything half done. A write above a file size limit is an error to be seen. */
static int catch_signals(struct agent *a, struct pkb_error *err)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigaddset(&set, SIGUSR1);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return pkb_error_errno(err, "signals");
    a->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return a->signal_fd < 0 ? pkb_error_errno(err, "signals") : 0;
}

static int read_run(struct agent *a, struct pkb_error *err)
{
    const char *cache;
    char *path = pkb_format(err, "%s/run.json", a->options.run);
    json_t *run = path ? pkb_json_read(path, err) : NULL;
    free(path);
    if (!run)
        return pkb_error_prefix(err, "no run directory");
    cache = json_string_value(json_object_get(run, "build_cache"));
    a->build_cache = cache ? strdup(cache) : pkb_format(err, "%s/builds", a->options.run);
    json_decref(run);
    return a->build_cache ? 0 : pkb_error_set(err, "run directory: out of memory");
}

static int read_shard(struct agent *a, struct pkb_error *err)
{
    a->plan = plan_load_shard(a->options.run, a->options.shard, err);
    for (size_t i = 0; a->plan && i < a->plan->n_shards; i++)
        if (a->plan->shards[i].id == a->options.shard)
            a->shard = &a->plan->shards[i];
    if (!a->plan)
        return -1;
    return a->shard ? 0 : pkb_error_set(err, "the plan has no shard %d", a->options.shard);
}

static int join_world(struct agent *a, struct pkb_error *err)
{
    a->world = agent_world_join(PKB_BUILD_ID, a->shard->world, JOIN_SECONDS, err);
    return a->world ? 0 : -1;
}

static int open_log(struct agent *a, struct pkb_error *err)
{
    char *folder = pkb_format(err, "%s/logs/shard-%06d.%03d", a->options.run, a->options.shard, a->options.attempt);
    if (folder && pkb_mkdirs(folder, err) == 0)
        a->log_path = pkb_format(err, "%s/runner-%03d.log", folder, a->world->rank);
    free(folder);
    return a->log_path ? 0 : -1;
}

static int open_supervisor(struct agent *a, struct pkb_error *err)
{
    char *program = pkb_path(PKB_PATH_LIBEXEC, "pkb-runner", err);
    if (program)
        a->supervisor = supervisor_create(program, a->world->shm_prefix, err);
    free(program);
    return a->supervisor ? 0 : -1;
}

/* All cells of a plan are for one device. */
static int place_gpu(struct agent *a, struct pkb_error *err)
{
    bool host = a->plan->n_settings == 0 || strcmp(agent_device(a, &a->plan->settings[0]), "host") == 0;
    return host ? 0 : gpu_place(a, err);
}

static void agent_close(struct agent *a)
{
    supervisor_destroy(a->supervisor);
    gpu_watch_destroy(a->gpu);
    agent_world_destroy(a->world);
    plan_destroy(a->plan);
    free(a->build_cache);
    free(a->log_path);
    if (a->signal_fd >= 0)
        (void)close(a->signal_fd);
}

static void run(struct agent *a, struct pkb_error *err)
{
    static int (*const steps[])(struct agent *, struct pkb_error *) = {catch_signals, read_run,        read_shard, join_world,
                                                                       open_log,      open_supervisor, place_gpu};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (steps[i](a, err) < 0) {
            (void)agent_end(a, AGENT_EXIT_FAILED, err, NULL);
            return;
        }
    shard_run(a, err);
}

int main(int argc, char **argv)
{
    struct agent a = {.options = {.shard = -1}, .signal_fd = -1, .gpu_ordinal = -1};
    struct pkb_error err = {""};
    argp_err_exit_status = AGENT_EXIT_USAGE;
    argp_program_version_hook = print_version;
    argp_parse(&argp, argc, argv, 0, NULL, &a.options);
    run(&a, &err);
    if (a.code != AGENT_EXIT_DONE) {
        if (a.world) {
            pkb_error_prefix(&err, "rank %d", a.world->rank);
            rounds_leave(a.world->rounds, a.code, err.text);
        }
        (void)fprintf(stderr, "pkb-agent: %s\n", err.text);
    }
    agent_close(&a);
    return a.code;
}
