/* SPDX-License-Identifier: Apache-2.0 */
/* Which compiler there is, and what its results depend on. */
#include "node_agent/build_toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/file.h"
#include "util/paths.h"
#include "util/process.h"

#define ASK_TIMEOUT_MS 20000
#define ASK_LIMIT 4096
#define CPUINFO_LIMIT (1 << 16)

static const char *const c_flags[] = {"-O3",   "-march=native",       "-std=gnu11",      "-shared",
                                      "-fPIC", "-fvisibility=hidden", "-fmax-errors=20", "-fdiagnostics-color=never"};
#define N_C_FLAGS (sizeof(c_flags) / sizeof(c_flags[0]))

/* ---- programs ------------------------------------------------------------------------------------------------------------ */

char *toolchain_on_path(const char *name, struct pkb_error *err)
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
    pkb_error_set(err, "'%s' is not on PATH", name);
    return NULL;
}

char *toolchain_program(const char *variable, const char *name, const char *what, struct pkb_error *err)
{
    const char *wanted = getenv(variable);
    bool given = wanted && *wanted;
    if (!given || !strchr(wanted, '/')) {
        char *found = toolchain_on_path(given ? wanted : name, err);
        if (!found)
            pkb_error_set(err, "no %s: '%s' is not on PATH; install one or set %s", what, given ? wanted : name, variable);
        return found;
    }
    if (wanted[0] != '/' || access(wanted, X_OK) < 0) {
        pkb_error_set(err, "%s=%s: expected the absolute path of a compiler", variable, wanted);
        return NULL;
    }
    char *copy = strdup(wanted);
    if (!copy)
        pkb_error_errno(err, "%s", variable);
    return copy;
}

static int run_question(const char *program, const char *option, int output, struct pkb_error *err)
{
    const char *argv[] = {program, option, NULL};
    const struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = output, .stderr_fd = -1, .no_core = true};
    int status = 0;
    int rc = process_run(&spec, ASK_TIMEOUT_MS, &status, err);
    if (rc == 0 && status == 0)
        return 0;
    return rc < 0 ? -1 : pkb_error_set(err, "%s %s fails", program, option);
}

char *toolchain_ask(const char *program, const char *option, struct pkb_error *err)
{
    char *text = calloc(1, ASK_LIMIT);
    if (!text) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    int fd = memfd_create("compiler-answer", MFD_CLOEXEC);
    int rc = fd < 0 ? pkb_error_errno(err, "memfd") : run_question(program, option, fd, err);
    if (rc == 0 && pread(fd, text, ASK_LIMIT - 1, 0) <= 0)
        rc = pkb_error_set(err, "%s %s says nothing", program, option);
    if (fd >= 0)
        (void)close(fd);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

char *toolchain_version(const char *compiler, const char *word, struct pkb_error *err)
{
    char *text = toolchain_ask(compiler, "--version", err), *line = NULL;
    const char *hit = text ? strstr(text, word) : NULL;
    if (!text)
        return NULL;
    if (hit) {
        while (hit > text && hit[-1] != '\n')
            hit--;
        line = strndup(hit, strcspn(hit, "\n"));
    }
    if (!line || line[0] == '\0') {
        pkb_error_set(err, "%s --version says nothing%s%s", compiler, *word ? " with " : "", word);
        free(line);
        line = NULL;
    }
    free(text);
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

int toolchain_add_flag(struct build_toolchain *t, const char *flag, struct pkb_error *err)
{
    size_t n = 0;
    while (t->flags && t->flags[n])
        n++;
    char **grown = reallocarray(t->flags, n + 2, sizeof(*grown));
    if (!grown)
        return pkb_error_errno(err, "flags");
    t->flags = grown;
    grown[n + 1] = NULL;
    grown[n] = strdup(flag);
    return grown[n] ? 0 : pkb_error_errno(err, "flags");
}

/* ---- life -------------------------------------------------------------------------------------------------------------- */

static int fill_c(struct build_toolchain *t, struct pkb_error *err)
{
    t->compiler = toolchain_program("PKB_CC", "cc", "C compiler", err);
    if (!t->compiler)
        return -1;
    t->version = toolchain_version(t->compiler, "", err);
    t->host = strdup("");
    if (!t->version || !t->host)
        return -1;
    t->limit_seconds = 120;
    t->limit_memory_mb = 4096;
    for (size_t i = 0; i < N_C_FLAGS; i++)
        if (toolchain_add_flag(t, c_flags[i], err) < 0)
            return -1;
    return digest_cpu(t, err);
}

static const struct {
    const char *kind;
    int (*fill)(struct build_toolchain *t, struct pkb_error *err);
} kinds[] = {{"c", fill_c}, {"cu", toolchain_fill_cuda}};

struct build_toolchain *build_toolchain_find(const char *kind, struct pkb_error *err)
{
    size_t k = 0;
    while (k < sizeof(kinds) / sizeof(kinds[0]) && strcmp(kind, kinds[k].kind) != 0)
        k++;
    if (k == sizeof(kinds) / sizeof(kinds[0])) {
        if (strcmp(kind, "py") == 0)
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
    (void)snprintf(t->kind, sizeof(t->kind), "%s", kind);
    if (kinds[k].fill(t, err) == 0 && find_header(t, err) == 0)
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
    free(t->host);
    free(t->disassembler);
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
    const char *parts[] = {"pkb build 2", source_digest, t->kind, t->version, t->host, t->header, t->cpu};
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
