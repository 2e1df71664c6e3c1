/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orchestrator/doctor.h"
#include "util/file.h"
#include "util/json.h"
#include "util/paths.h"
#include "util/process.h"

#define MAX_OUTPUT ((size_t)4 << 20)

/* Certificates, munge's credentials and make's time stamps tolerate minutes; records and logs of several nodes are compared by eye. */
#define MOST_SKEW 2.0 /* s */

/* Host candidates keep symmetric memory there. */
#define LEAST_SHM_MB 1024

/* ---- the world ------------------------------------------------------------------------------------------------------- */

static int make_command(const struct doctor_world *w, struct words *command, struct pkb_error *err)
{
    struct launcher_world world = {.ranks = w->ranks, .log_dir = w->folder};
    char *program = pkb_path(PKB_PATH_LIBEXEC, "pkb-probe", err);
    int rc = program && w->launcher->add_words(w->launcher, &world, command, err) == 0 ? 0 : -1;
    if (rc == 0 && (words_add(command, err, "%s", program) < 0 || words_add(command, err, "%s", w->folder) < 0))
        rc = -1;
    free(program);
    return rc;
}

static int open_in(const char *folder, const char *name, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/%s", folder, name);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (path && fd < 0)
        pkb_error_errno(err, "%s", path);
    free(path);
    return fd;
}

/* Runs the launcher with its output in the folder's files "out" and "log". 1: it took too long. */
static int run(const struct doctor_world *w, int *status, struct pkb_error *err)
{
    struct words command = WORDS_NONE;
    int out = open_in(w->folder, "out", err), log = out < 0 ? -1 : open_in(w->folder, "log", err);
    int rc = log < 0 ? -1 : make_command(w, &command, err);
    if (rc == 0) {
        struct process_spec spec = {.argv = words_argv(&command), .stdin_fd = -1, .stdout_fd = out, .stderr_fd = log};
        rc = process_run(&spec, w->seconds * 1000, status, err);
    }
    words_clear(&command);
    if (out >= 0)
        (void)close(out);
    if (log >= 0)
        (void)close(log);
    return rc;
}

static char *read_in(const char *folder, const char *name)
{
    char *text = NULL, *path = pkb_format(NULL, "%s/%s", folder, name);
    size_t size;
    if (path)
        (void)pkb_file_read(path, MAX_OUTPUT, &text, &size, NULL);
    free(path);
    return text;
}

/* The last line of a text that says anything. */
static const char *last_line(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        text[--n] = '\0';
    char *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

/* Ranks say more than their launcher. */
static void explain_failure(struct doctor *d, const struct doctor_world *w, const char *how)
{
    char *agent = read_in(w->folder, "agent-000.log"), *log = read_in(w->folder, "log");
    const char *why = agent && agent[0] ? last_line(agent) : log && log[0] ? last_line(log) : "nothing was said";
    doctor_add(d, DOCTOR_BAD, "world", "sweeps start their agents in the same way, and would fail as this did",
               "%d ranks by %s: %s: %.400s", w->ranks, w->launcher->name, how, why);
    free(agent);
    free(log);
}

void doctor_start_world(struct doctor *d, const struct doctor_world *w)
{
    struct pkb_error err = {""};
    char how[128];
    int status = 0;
    int rc = pkb_mkdirs(w->folder, &err) < 0 ? -1 : run(w, &status, &err);
    if (rc < 0) {
        doctor_add(d, DOCTOR_BAD, "world", "name another folder with --dir, or mend what the message says", "%s", err.text);
    } else if (rc > 0) {
        (void)snprintf(how, sizeof(how), "nothing after %d s", w->seconds);
        explain_failure(d, w, how);
    } else if (status != 0) {
        process_describe_status(status, how, sizeof(how));
        explain_failure(d, w, how);
    } else {
        char *lines = read_in(w->folder, "out");
        if (lines && lines[0])
            doctor_judge_reports(d, w, lines);
        else
            explain_failure(d, w, "no rank reported (can all nodes write the folder that --dir names?)");
        free(lines);
    }
    (void)pkb_remove_tree(w->folder, NULL);
}

/* ---- reports --------------------------------------------------------------------------------------------------------- */

struct summary {
    int ranks, hosts;
    double first, last; /* clocks */
    json_int_t shm_mb;  /* least */
    int gpus;           /* least */
    char folder[400];   /* the first complaint */
    char poor[128];     /* the host with the least shared memory */
    char names[256];
};

static void add_host(struct summary *s, const char *host)
{
    size_t used = strlen(s->names), n = strlen(host);
    char *at = strstr(s->names, host);
    bool known = at && (at == s->names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0');
    if (known)
        return;
    s->hosts++;
    if (used + n + 2 < sizeof(s->names))
        (void)snprintf(s->names + used, sizeof(s->names) - used, "%s%s", used ? " " : "", host);
}

static int add_report(struct summary *s, const char *line, size_t size)
{
    const char *host, *folder;
    double clock;
    json_int_t shm;
    int gpus;
    json_t *v = pkb_json_parse(line, size, NULL);
    if (!v || json_unpack(v, "{s:s, s:f, s:s, s:I, s:i}", "host", &host, "clock", &clock, "folder", &folder, "shm_mb", &shm,
                          "gpus", &gpus) < 0) {
        json_decref(v);
        return -1;
    }
    bool none = s->ranks++ == 0;
    s->first = none || clock < s->first ? clock : s->first;
    s->last = none || clock > s->last ? clock : s->last;
    s->gpus = none || gpus < s->gpus ? gpus : s->gpus;
    if (none || shm < s->shm_mb) {
        s->shm_mb = shm;
        (void)snprintf(s->poor, sizeof(s->poor), "%s", host);
    }
    if (folder[0] && !s->folder[0])
        (void)snprintf(s->folder, sizeof(s->folder), "%s: %s", host, folder);
    add_host(s, host);
    json_decref(v);
    return 0;
}

static int read_reports(struct summary *s, const char *lines)
{
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        if (n > 0 && add_report(s, lines, n) < 0)
            return -1;
        lines += n + (lines[n] == '\n');
    }
    return 0;
}

static void judge_folder(struct doctor *d, const struct summary *s)
{
    if (s->folder[0])
        doctor_add(d, DOCTOR_BAD, "folder", "put runs where every node sees and may write them: --dir checks a place", "%s",
                   s->folder);
    else
        doctor_add(d, DOCTOR_OK, "folder", "", "every rank writes there and sees what the others wrote");
}

static void judge_clocks(struct doctor *d, const struct summary *s)
{
    if (s->hosts < 2)
        return;
    if (s->last - s->first > MOST_SKEW)
        doctor_add(d, DOCTOR_NOTE, "clocks", "run an NTP daemon on every node", "they differ by %.1f s", s->last - s->first);
    else
        doctor_add(d, DOCTOR_OK, "clocks", "", "within %.2f s of each other", s->last - s->first);
}

static void judge_node(struct doctor *d, const struct doctor_world *w, const struct summary *s)
{
    int per_node = (w->ranks + s->hosts - 1) / s->hosts;
    if (s->shm_mb < LEAST_SHM_MB)
        doctor_add(d, DOCTOR_NOTE, "memory", "give /dev/shm of the nodes some GiB", "%s has %lld MiB of shared memory", s->poor,
                   (long long)s->shm_mb);
    if (w->gpus && s->gpus < per_node)
        doctor_add(d, DOCTOR_BAD, "GPUs", "check gres.conf, the setting `gpu` and CUDA_VISIBLE_DEVICES of jobs",
                   "a rank sees %d GPUs, and %d ranks share a node", s->gpus, per_node);
    else if (w->gpus)
        doctor_add(d, DOCTOR_OK, "GPUs", "", "%d visible to every rank", s->gpus);
}

void doctor_judge_reports(struct doctor *d, const struct doctor_world *w, const char *lines)
{
    struct summary s = {0};
    if (read_reports(&s, lines) < 0 || s.ranks != w->ranks) {
        doctor_add(d, DOCTOR_BAD, "world", "look for what prints into the output of jobs (profile files?)",
                   "%d of %d ranks reported by %s", s.ranks, w->ranks, w->launcher->name);
        return;
    }
    doctor_add(d, DOCTOR_OK, "world", "", "%d ranks by %s on %s, all of this build", s.ranks, w->launcher->name, s.names);
    judge_folder(d, &s);
    judge_clocks(d, &s);
    judge_node(d, w, &s);
}
