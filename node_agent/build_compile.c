/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the compiler on foreign source: clean environment, limits, bounded log. */
#include "node_agent/build_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/process.h"

#define FILE_LIMIT ((uint64_t)256 << 20) /* of the object, temporaries and, while it is written, the log */
#define SASS_LIMIT ((uint64_t)8 << 20)
#define SASS_SECONDS 60
#define LOG_LIMIT ((size_t)64 << 10) /* what is kept of the log */
#define CUT_OFF "\n(cut off)\n"
#define MAX_ENV 8

const char *build_source_name(const struct build_toolchain *t)
{
    return strcmp(t->kind, "cu") == 0 ? "candidate.cu" : "candidate.c";
}

/* ---- command and environment ------------------------------------------------------------------------------------------- */

const char **build_command(const struct build_toolchain *t, struct pkb_error *err)
{
    size_t n = 0, k = 0;
    while (t->flags[n])
        n++;
    const char **argv = calloc(n + 8, sizeof(*argv));
    if (!argv) {
        pkb_error_errno(err, "command line");
        return NULL;
    }
    argv[k++] = t->compiler;
    for (size_t i = 0; i < n; i++)
        argv[k++] = t->flags[i];
    argv[k++] = "-I";
    argv[k++] = t->include;
    argv[k++] = "-o";
    argv[k++] = BUILD_OBJECT;
    argv[k++] = build_source_name(t);
    argv[k++] = "-lm";
    return argv;
}

/* A variable that compilers need to find their own parts. */
static int pass_on(char **env, size_t *n, const char *name, const char *fallback, struct pkb_error *err)
{
    const char *value = getenv(name);
    if (!value)
        value = fallback;
    if (!value)
        return 0;
    env[*n] = pkb_format(err, "%s=%s", name, value);
    if (!env[*n])
        return -1;
    *n += 1;
    return 0;
}

static int make_env(char *env[MAX_ENV], struct pkb_error *err)
{
    size_t n = 0;
    if (pass_on(env, &n, "PATH", "/usr/bin:/bin", err) < 0 || pass_on(env, &n, "LD_LIBRARY_PATH", NULL, err) < 0)
        return -1;
    env[n] = pkb_format(err, "TMPDIR=" BUILD_SCRATCH);
    if (!env[n++])
        return -1;
    env[n] = pkb_format(err, "LC_ALL=C");
    return env[n] ? 0 : -1;
}

static void free_env(char *env[MAX_ENV])
{
    for (size_t i = 0; i < MAX_ENV; i++)
        free(env[i]);
}

/* ---- log --------------------------------------------------------------------------------------------------------------- */

static int cut_log(int fd, struct pkb_error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return pkb_error_errno(err, "log");
    if (st.st_size <= (off_t)LOG_LIMIT)
        return 0;
    if (ftruncate(fd, (off_t)LOG_LIMIT) < 0 || lseek(fd, 0, SEEK_END) < 0 || pkb_write_all(fd, CUT_OFF, strlen(CUT_OFF)) < 0)
        return pkb_error_errno(err, "log");
    return 0;
}

/* Copies a line; the text of a compiler may hold anything, but a detail is UTF-8. */
static void copy_line(const char *line, char *detail, size_t size)
{
    size_t n = strcspn(line, "\n");
    if (n > size - 1)
        n = size - 1;
    for (size_t i = 0; i < n; i++)
        detail[i] = line[i] >= ' ' && line[i] < 0x7f ? line[i] : '?';
    detail[n] = '\0';
}

/* The first line with one of the words of an error, else the first line that says anything. */
static void find_error(const char *log, char *detail, size_t size)
{
    static const char *const words[] = {"error:",        "Error:",           "error   :", "error :", "undefined reference",
                                        "out of memory", "memory exhausted", "fatal   :"};
    const char *first = NULL;
    for (const char *line = log; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
            const char *hit = strstr(line, words[w]);
            if (hit && hit < line + n) {
                copy_line(line, detail, size);
                return;
            }
        }
        if (!first && n > 0)
            first = line;
        line += n + (line[n] == '\n');
    }
    copy_line(first ? first : "the compiler gave no reason", detail, size);
}

/* Failures of the machine, which say nothing about the source. */
static const char *machine_failure(const char *log)
{
    static const char *const words[] = {"No space left on device", "Disk quota exceeded",
                                        "Input/output error",      "Killed signal terminated program",
                                        "unsupported GNU version", "unsupported clang version"};
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++)
        if (strstr(log, words[w]))
            return words[w];
    return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------------------------------- */

static int run(const struct build_toolchain *t, const char *folder, const char **argv, int log, int *status,
               struct pkb_error *err)
{
    char *env[MAX_ENV] = {NULL};
    int rc = -1;
    if (make_env(env, err) == 0) {
        const struct process_spec spec = {
            .argv = argv,
            .env = (const char *const *)env,
            .cwd = folder,
            .stdin_fd = -1,
            .stdout_fd = log,
            .stderr_fd = log,
            .address_space = (uint64_t)t->limit_memory_mb << 20,
            .cpu_seconds = (uint64_t)t->limit_seconds,
            .file_bytes = FILE_LIMIT,
            .no_core = true,
        };
        rc = process_run(&spec, t->limit_seconds * 1000, status, err);
    }
    free_env(env);
    return rc;
}

static int explain(int fd, int status, struct build_compiled *c, struct pkb_error *err)
{
    char log[LOG_LIMIT + sizeof(CUT_OFF)];
    ssize_t n = pread(fd, log, sizeof(log) - 1, 0);
    log[n > 0 ? n : 0] = '\0';
    const char *machine = machine_failure(log);
    if (machine)
        return pkb_error_set(err, "the compiler: %s", machine);
    if (WIFSIGNALED(status)) {
        char what[100];
        if (WTERMSIG(status) == SIGKILL)
            return pkb_error_set(err, "the compiler was killed");
        process_describe_status(status, what, sizeof(what));
        (void)snprintf(c->detail, sizeof(c->detail), "the compiler was %s", what);
        return 0;
    }
    find_error(log, c->detail, sizeof(c->detail));
    return 0;
}

static int compile_with_log(const struct build_toolchain *t, const char *folder, const char **argv, int log,
                            struct build_compiled *c, struct pkb_error *err)
{
    int status = 0;
    int64_t start = pkb_now_ns();
    int rc = run(t, folder, argv, log, &status, err);
    c->seconds = (double)(pkb_now_ns() - start) * 1e-9;
    if (rc < 0 || cut_log(log, err) < 0)
        return -1;
    if (rc == 1) {
        (void)snprintf(c->detail, sizeof(c->detail), "compilation exceeded the limit of %d s", t->limit_seconds);
        return 0;
    }
    c->ok = status == 0;
    return c->ok ? 0 : explain(log, status, c, err);
}

/* ---- machine code ------------------------------------------------------------------------------------------------------ */

/* Best effort: a listing that is cut off is of use, none is no fault of the source. */
static void disassemble(const struct build_toolchain *t, const char *folder)
{
    const char *const argv[] = {t->disassembler, "--dump-sass", BUILD_OBJECT, NULL};
    char *path = pkb_format(NULL, "%s/%s", folder, BUILD_SASS);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    int status = -1;
    struct stat st;
    if (fd >= 0) {
        const struct process_spec spec = {.argv = argv,
                                          .cwd = folder,
                                          .stdin_fd = -1,
                                          .stdout_fd = fd,
                                          .stderr_fd = -1,
                                          .cpu_seconds = SASS_SECONDS,
                                          .file_bytes = SASS_LIMIT,
                                          .no_core = true};
        if (process_run(&spec, SASS_SECONDS * 1000, &status, NULL) < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
            (void)unlink(path);
        (void)close(fd);
    }
    free(path);
}

int build_compile(const struct build_toolchain *t, const char *folder, struct build_compiled *c, struct pkb_error *err)
{
    int rc = -1;
    memset(c, 0, sizeof(*c));
    char *path = pkb_format(err, "%s/%s", folder, BUILD_LOG);
    const char **argv = path ? build_command(t, err) : NULL;
    int log = argv ? open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (argv && log < 0)
        pkb_error_errno(err, "%s", path);
    if (log >= 0) {
        rc = compile_with_log(t, folder, argv, log, c, err);
        (void)close(log);
    }
    if (rc == 0 && c->ok && t->disassembler)
        disassemble(t, folder);
    free(argv);
    free(path);
    return rc;
}
