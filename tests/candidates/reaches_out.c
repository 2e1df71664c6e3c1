/* SPDX-License-Identifier: Apache-2.0 */
/* Tries to forge records, to leave files behind, and to get at its agent. Ends in a crash when anything of it works; returns an error when
 * nothing does. */
#include <pkb/candidate.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void must_fail(const char *what, int result)
{
    if (result < 0)
        return;
    fprintf(stderr, "this worked: %s\n", what);
    abort();
}

static void write_below(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/forged.jsonl", folder);
    must_fail(path, open(path, O_CREAT | O_WRONLY, 0600));
    snprintf(path, sizeof(path), "%s/forged", folder);
    must_fail(path, mkdir(path, 0700));
    must_fail(path, symlink("/etc/passwd", path));
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        if (e->d_type == DT_REG) {
            must_fail(path, open(path, O_WRONLY | O_APPEND));
            must_fail(path, unlink(path));
        }
    }
    if (d)
        closedir(d);
}

/* The run's folder is among the agent's arguments. */
static void forge_records(pid_t agent)
{
    char path[64], text[8192], folder[8300];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)agent);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    for (const char *at = text; n > 0 && at < text + n; at += strlen(at) + 1) {
        snprintf(folder, sizeof(folder), "%s/records", at);
        if (at[0] == '/' && stat(folder, &st) == 0) {
            write_below(folder);
            write_below(at);
            fprintf(stderr, "tried %s\n", folder);
        }
    }
}

static void touch_agent(pid_t agent, long version)
{
    char path[64], word[8];
    struct iovec here = {word, sizeof(word)}, there = {(void *)&write_below, sizeof(word)};
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)agent);
    must_fail("the agent's memory", open(path, O_RDWR));
    must_fail("reading the agent's memory", (int)process_vm_readv(agent, &here, 1, &there, 1, 0));
    if (version >= 6)
        must_fail("a signal to the agent", kill(agent, SIGCONT));
}

int pkb_setup(const pkb_context *c, const pkb_tensor *in, const pkb_tensor *out)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    pid_t agent = getppid();
    (void)c, (void)in, (void)out;
    if (version <= 0)
        return -1; /* nothing keeps it from it here */
    forge_records(agent);
    touch_agent(agent, version);
    write_below(getenv("HOME") ? getenv("HOME") : "/");
    write_below("/tmp");
    return -1;
}

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c, (void)in, (void)out;
    return 0;
}
