/* SPDX-License-Identifier: Apache-2.0 */
/* pkb doctor: finds what would make a sweep fail, before an allocation is spent on it. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/command.h"
#include "orchestrator/doctor.h"
#include "orchestrator/engine.h"
#include "orchestrator/options.h"
#include "orchestrator/slurm/options.h"
#include "util/file.h"

#define LOCAL_RANKS 2
#define LOCAL_SECONDS 60

enum { KEY_NODES = 0x100, KEY_GPUS };

struct choice {
    struct engine_options launch; /* --launcher, --site, --slurm */
    const char *dir;
    int nodes;
    bool gpus, json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &c->launch;
        return 0;
    case 'd':
        c->dir = arg;
        return 0;
    case KEY_NODES:
        c->nodes = (int)option_integer(state, "--nodes", arg, 1, 512);
        return 0;
    case KEY_GPUS:
        c->gpus = true;
        return 0;
    case 'j':
        c->json = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        return EINVAL;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"dir", 'd', "DIR", 0, "Where runs are to be: every rank must see it (default: here)", 0},
    {"nodes", KEY_NODES, "N", 0, "slurm: start ranks on so many nodes at once (default: 1)", 0},
    {"gpus", KEY_GPUS, NULL, 0, "Ask for GPUs, and check that every rank sees enough", 0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {0}};

static const struct argp_child children[] = {{&launcher_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Checks what a sweep needs: compilers, devices, limits, and that a world of ranks starts as the agents of a sweep do, sees "
    "the "
    "folder of runs and agrees about the time. With --launcher=slurm also the controller, PMIx and a job of the given settings.\v"
    "Exit status: 0 nothing is bad; 1 something is; 2 wrong usage or bad settings; 3 the system refused.",
    children,
    NULL,
    NULL};

/* A folder below --dir that is removed afterwards. */
static char *make_folder(const struct choice *c, const char *what, struct pkb_error *err)
{
    char *here = c->dir ? pkb_format(err, "%s", c->dir) : getcwd(NULL, 0);
    char *real = here ? realpath(here, NULL) : NULL;
    char *path = real ? pkb_format(err, "%s/.pkb-doctor-%s.%ld", real, what, (long)getpid()) : NULL;
    if (!real)
        pkb_error_errno(err, "%s", here ? here : "the current folder");
    free(real);
    free(here);
    return path;
}

static int check_local(struct doctor *d, const struct choice *c, struct pkb_error *err)
{
    char *folder = make_folder(c, "local", err);
    struct doctor_world w = {
        .launcher = &launcher_local, .ranks = LOCAL_RANKS, .folder = folder, .seconds = LOCAL_SECONDS, .gpus = false};
    if (!folder)
        return -1;
    doctor_start_world(d, &w);
    free(folder);
    return 0;
}

/* Settings as `pkb run` takes them: the site's, then those of the command line. */
static int read_settings(const struct choice *c, struct slurm_settings *s, struct pkb_error *err)
{
    json_t *given = json_object();
    int rc = given ? slurm_settings_add_site(given, c->launch.site, err) : pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < c->launch.slurm.n && rc == 0; i++)
        rc = slurm_settings_add_text(given, c->launch.slurm.list[i], err);
    if (rc == 0)
        rc = slurm_settings_decode(given, s, err);
    json_decref(given);
    return rc;
}

static int check_slurm(struct doctor *d, const struct choice *c, struct pkb_error *err)
{
    struct slurm_settings s = {0};
    char *folder = read_settings(c, &s, err) == 0 ? make_folder(c, "slurm", err) : NULL;
    if (folder)
        doctor_slurm(d, &s, c->nodes, folder, c->gpus);
    slurm_settings_clear(&s);
    int rc = folder ? 0 : -1;
    free(folder);
    return rc;
}

static int check(struct doctor *d, const struct choice *c, struct pkb_error *err)
{
    const char *launcher = c->launch.launcher ? c->launch.launcher : launcher_default(err);
    if (!launcher)
        return -1;
    doctor_machine(d);
    return strcmp(launcher, "slurm") == 0 ? check_slurm(d, c, err) : check_local(d, c, err);
}

int cmd_doctor(int argc, char **argv)
{
    static struct doctor d;
    struct choice c = {.nodes = 1};
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    int rc = check(&d, &c, &err);
    words_clear(&c.launch.slurm);
    if (rc < 0)
        return command_fail(PKB_EXIT_USAGE, &err);
    if (!c.json) {
        doctor_print(&d);
        return d.bad ? PKB_EXIT_INCOMPLETE : PKB_EXIT_OK;
    }
    json_t *v = doctor_json(&d);
    rc = v ? command_print_json(v, 1, &err) : pkb_error_set(&err, "out of memory");
    json_decref(v);
    if (rc < 0)
        return command_fail(PKB_EXIT_SYSTEM, &err);
    return d.bad ? PKB_EXIT_INCOMPLETE : PKB_EXIT_OK;
}
