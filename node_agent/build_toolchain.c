/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler there is, and what its results depend on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node_agent/build.h"
#include "util/file.h"
#include "util/paths.h"
#include "util/process.h"

#define LIMIT_SECONDS 120
#define LIMIT_MEMORY_MB 4096
#define VERSION_TIMEOUT_MS 20000
#define CPUINFO_LIMIT (1 << 16)

static const char *const c_flags[] = {"-O3",   "-march=native",       "-std=gnu11",      "-shared",
                                      "-fPIC", "-fvisibility=hidden", "-fmax-errors=20", "-fdiagnostics-color=never"};
#define N_C_FLAGS (sizeof(c_flags) / sizeof(c_flags[0]))

/* ---- the compiler -------------------------------------------------------------------------------------------------------- */

static char *find_on_path(const char *name, struct pkb_error *err)
{
    const char *path = getenv("PATH");
    for (const char *p = path ? path : "/usr/bin:/bin"; *p != '\0';) {
        size_t n = strcspn(p, ":");
        char *full = pkb_format(err, "%.*s/%s", (int)n, p, name);
        if (!full)
            return NULL;
        if (n > 0 && full[0] == '/' && access(full, X_OK) == 0)
            return full;
        free(full);
        p += n + (p[n] == ':');
    }
    pkb_error_set(err, "no C compiler: '%s' is not on PATH; install one or set PKB_CC", name);
    return NULL;
}

static char *find_compiler(struct pkb_error *err)
{
    const char *wanted = getenv("PKB_CC");
    if (!wanted || !*wanted)
        return find_on_path("cc", err);
    if (!strchr(wanted, '/'))
        return find_on_path(wanted, err);
    if (wanted[0] != '/' || access(wanted, X_OK) < 0) {
        pkb_error_set(err, "PKB_CC=%s: expected the absolute path of a compiler", wanted);
        return NULL;
    }
    char *copy = strdup(wanted);
    if (!copy)
        pkb_error_errno(err, "PKB_CC");
    return copy;
}

static int run_version(const char *compiler, int output, struct pkb_error *err)
{
    const char *argv[] = {compiler, "--version", NULL};
    const struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = output, .stderr_fd = -1, .no_core = true};
    int status = 0;
    int rc = process_run(&spec, VERSION_TIMEOUT_MS, &status, err);
    if (rc == 0 && status == 0)
        return 0;
    return rc < 0 ? -1 : pkb_error_set(err, "%s --version fails", compiler);
}

/* The first line of --version. */
static char *ask_version(const char *compiler, struct pkb_error *err)
{
    char text[512], *line = NULL;
    int fd = memfd_create("compiler-version", MFD_CLOEXEC);
    if (fd < 0) {
        pkb_error_errno(err, "memfd");
        return NULL;
    }
    if (run_version(compiler, fd, err) == 0) {
        ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        text[strcspn(text, "\n")] = '\0';
        line = text[0] ? strdup(text) : NULL;
        if (!line)
            pkb_error_set(err, "%s --version says nothing", compiler);
    }
    (void)close(fd);
    return line;
}

/* ---- what else results depend on ------------------------------------------------------------------------------------------ */

static int find_header(struct build_toolchain *t, struct pkb_error *err)
{
    char *folder = pkb_path(PKB_PATH_INCLUDE, "", err);
    char *header = folder ? pkb_format(err, "%s/pkb/candidate.h", folder) : NULL;
    int rc = header ? pkb_digest_file(header, t->header, err) : -1;
    if (rc == 0 && strlen(folder) >= sizeof(t->include))
        rc = pkb_error_set(err, "%s: the path is too long", folder);
    if (rc == 0)
        memcpy(t->include, folder, strlen(folder) + 1);
    free(folder);
    free(header);
    return rc;
}

/* Names of features, of the first processor. */
static int digest_cpu(struct build_toolchain *t, struct pkb_error *err)
{
    static const char *const keys[] = {"flags", "Features"};
    char text[CPUINFO_LIMIT];
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f)
        return pkb_error_errno(err, "/proc/cpuinfo");
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *line = strstr(text, keys[i]);
        if (line)
            return pkb_digest_buffer(line, strcspn(line, "\n"), t->cpu, err);
    }
    return pkb_digest_buffer("", 0, t->cpu, err);
}

static int copy_flags(struct build_toolchain *t, struct pkb_error *err)
{
    t->flags = calloc(N_C_FLAGS + 1, sizeof(*t->flags));
    if (!t->flags)
        return pkb_error_errno(err, "flags");
    for (size_t i = 0; i < N_C_FLAGS; i++) {
        t->flags[i] = strdup(c_flags[i]);
        if (!t->flags[i])
            return pkb_error_errno(err, "flags");
    }
    return 0;
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

static int fill(struct build_toolchain *t, struct pkb_error *err)
{
    t->compiler = find_compiler(err);
    if (!t->compiler)
        return -1;
    t->version = ask_version(t->compiler, err);
    if (!t->version)
        return -1;
    t->limit_seconds = LIMIT_SECONDS;
    t->limit_memory_mb = LIMIT_MEMORY_MB;
    return copy_flags(t, err) < 0 || find_header(t, err) < 0 || digest_cpu(t, err) < 0 ? -1 : 0;
}

struct build_toolchain *build_toolchain_find(const char *kind, struct pkb_error *err)
{
    if (strcmp(kind, "c") != 0) {
        if (strcmp(kind, "cu") == 0)
            pkb_error_set(err, "candidates of kind cu: pkb was built without CUDA");
        else if (strcmp(kind, "py") == 0)
            pkb_error_set(err, "candidates of kind py: pkb was built without Python");
        else
            pkb_error_set(err, "candidates of kind '%s': unknown, expected c, cu or py", kind);
        return NULL;
    }
    struct build_toolchain *t = calloc(1, sizeof(*t));
    if (!t) {
        pkb_error_errno(err, "compiler");
        return NULL;
    }
    memcpy(t->kind, "c", 2);
    if (fill(t, err) == 0)
        return t;
    build_toolchain_destroy(t);
    return NULL;
}

void build_toolchain_destroy(struct build_toolchain *t)
{
    if (!t)
        return;
    for (size_t i = 0; t->flags && t->flags[i]; i++)
        free(t->flags[i]);
    free(t->flags);
    free(t->compiler);
    free(t->version);
    free(t);
}

/* One part of the key; the line ends keep neighbours apart. */
static int add(struct pkb_digest *d, const char *part, struct pkb_error *err)
{
    if (pkb_digest_update(d, part, strlen(part), err) < 0)
        return -1;
    return pkb_digest_update(d, "\n", 1, err);
}

static int add_all(struct pkb_digest *d, const struct build_toolchain *t, const char *source_digest, struct pkb_error *err)
{
    const char *parts[] = {"pkb build 1", source_digest, t->kind, t->version, t->header, t->cpu};
    if (pkb_digest_begin(d, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (add(d, parts[i], err) < 0)
            return -1;
    for (size_t i = 0; t->flags[i]; i++)
        if (add(d, t->flags[i], err) < 0)
            return -1;
    return 0;
}

int build_key(const struct build_toolchain *t, const char *source_digest, char key[PKB_DIGEST_HEX], struct pkb_error *err)
{
    uint8_t raw[PKB_DIGEST_BYTES];
    struct pkb_digest *d = pkb_digest_create(err);
    int rc = d && add_all(d, t, source_digest, err) == 0 ? pkb_digest_final(d, raw, err) : -1;
    if (rc == 0)
        pkb_digest_hex(raw, key);
    pkb_digest_destroy(d);
    return rc;
}
