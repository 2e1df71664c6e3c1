/* SPDX-License-Identifier: Apache-2.0 */
/* nvcc: where it is and for which GPUs it compiles. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/build_toolchain.h"
#include "util/file.h"
#include "util/gpu.h"

#define SECONDS 300
#define MEMORY_MB 16384
#define MAX_KINDS 8
#define MOST_ARCHS 16

static const char *const cu_flags[] = {"-O3",        "-std=c++17",          "-shared", "-Xcompiler", "-fPIC",
                                       "-Xcompiler", "-fvisibility=hidden", "-cudart", "shared",     "--resource-usage"};
#define N_CU_FLAGS (sizeof(cu_flags) / sizeof(cu_flags[0]))

/* For machines without a GPU: what most candidates are written for, and PTX of the oldest for all others. */
static const char *const usual[] = {"80", "90a", "100a"};
#define N_USUAL (sizeof(usual) / sizeof(usual[0]))

/* ---- programs ------------------------------------------------------------------------------------------------------------ */

static char *find_nvcc(struct pkb_error *err)
{
    const char *wanted = getenv("PKB_NVCC");
    if (wanted && *wanted)
        return toolchain_program("PKB_NVCC", "nvcc", "CUDA compiler", err);
    char *nvcc = toolchain_on_path("nvcc", NULL);
    if (!nvcc)
        nvcc = pkb_format(err, "%s", PKB_CONFIGURED_NVCC[0] ? PKB_CONFIGURED_NVCC : "/usr/local/cuda/bin/nvcc");
    if (nvcc && access(nvcc, X_OK) == 0)
        return nvcc;
    pkb_error_set(err,
                  "candidates of kind cu: no CUDA compiler: nvcc is neither on PATH nor %s; install the CUDA toolkit or set "
                  "PKB_NVCC",
                  nvcc ? nvcc : "where pkb was configured to find it");
    free(nvcc);
    return NULL;
}

/* Next to nvcc, else on PATH; NULL is fine. */
static char *find_disassembler(const char *nvcc)
{
    const char *slash = strrchr(nvcc, '/');
    char *near = pkb_format(NULL, "%.*s/cuobjdump", (int)(slash - nvcc), nvcc);
    if (near && access(near, X_OK) == 0)
        return near;
    free(near);
    return toolchain_on_path("cuobjdump", NULL);
}

/* nvcc works with the host compiler whose version is part of the key. */
static int find_host_compiler(struct build_toolchain *t, struct pkb_error *err)
{
    char *host = toolchain_program("PKB_CXX", "c++", "C++ compiler for nvcc", err);
    if (!host)
        return -1;
    t->host = toolchain_version(host, "", err);
    int rc = t->host && toolchain_add_flag(t, "-ccbin", err) == 0 ? toolchain_add_flag(t, host, err) : -1;
    free(host);
    return rc;
}

/* ---- architectures --------------------------------------------------------------------------------------------------------- */

static int add_arch(struct build_toolchain *t, const char *arch, bool ptx, struct pkb_error *err)
{
    char flag[80];
    (void)snprintf(flag, sizeof(flag), ptx ? "-gencode=arch=compute_%s,code=compute_%s" : "-gencode=arch=compute_%s,code=sm_%s",
                   arch, arch);
    return toolchain_add_flag(t, flag, err);
}

/* "90a": two or three digits and perhaps a or f. */
static bool is_arch(const char *text, size_t n)
{
    size_t digits = strspn(text, "0123456789");
    return n <= 4 && digits >= 2 && digits <= 3 && (digits == n || (digits + 1 == n && strchr("af", text[digits])));
}

int toolchain_add_archs(struct build_toolchain *t, const char *list, struct pkb_error *err)
{
    int n = 0;
    for (const char *p = list; n == 0 || *p != '\0'; n++) {
        char arch[8];
        size_t size = strcspn(p, ",");
        if (!is_arch(p, size) || n == MOST_ARCHS)
            return pkb_error_set(err, "PKB_CUDA_ARCHS=%s: expected up to %d architectures like 90a or 80,90a", list, MOST_ARCHS);
        (void)snprintf(arch, sizeof(arch), "%.*s", (int)size, p);
        if (add_arch(t, arch, false, err) < 0)
            return -1;
        p += size;
        if (*p == ',' && *++p == '\0')
            return pkb_error_set(err, "PKB_CUDA_ARCHS=%s: nothing follows the last comma", list);
    }
    return 0;
}

/* From 9.0 on the instructions that only one generation has need the letter. */
static int add_present(struct build_toolchain *t, const int *kinds, int n, struct pkb_error *err)
{
    for (int i = 0; i < n; i++) {
        char arch[16];
        (void)snprintf(arch, sizeof(arch), "%d%s", kinds[i], kinds[i] >= 90 ? "a" : "");
        if (add_arch(t, arch, false, err) < 0)
            return -1;
    }
    return 0;
}

/* The usual ones that this nvcc knows. */
static int add_usual(struct build_toolchain *t, struct pkb_error *err)
{
    char *known = toolchain_ask(t->compiler, "--list-gpu-code", err), name[16];
    int rc = known ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < N_USUAL; i++) {
        (void)snprintf(name, sizeof(name), "sm_%.*s", (int)strspn(usual[i], "0123456789"), usual[i]);
        if (strstr(known, name))
            rc = add_arch(t, usual[i], false, err);
    }
    free(known);
    return rc < 0 ? -1 : add_arch(t, usual[0], true, err);
}

static int add_archs(struct build_toolchain *t, struct pkb_error *err)
{
    const char *list = getenv("PKB_CUDA_ARCHS");
    int kinds[MAX_KINDS];
    if (list && *list)
        return toolchain_add_archs(t, list, err);
    int n = gpu_capabilities(kinds, MAX_KINDS);
    return n > 0 ? add_present(t, kinds, n, err) : add_usual(t, err);
}

int toolchain_fill_cuda(struct build_toolchain *t, struct pkb_error *err)
{
    t->limit_seconds = SECONDS;
    t->limit_memory_mb = MEMORY_MB;
    t->compiler = find_nvcc(err);
    if (!t->compiler)
        return -1;
    t->version = toolchain_version(t->compiler, "release", err);
    t->disassembler = find_disassembler(t->compiler);
    for (size_t i = 0; i < N_CU_FLAGS; i++)
        if (toolchain_add_flag(t, cu_flags[i], err) < 0)
            return -1;
    return !t->version || find_host_compiler(t, err) < 0 || add_archs(t, err) < 0 ? -1 : 0;
}
