/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "build-id.h"
#include "config.h"
#include "node_agent/build.h"
#include "orchestrator/doctor.h"
#include "runtime/runtime.h"
#include "util/confine.h"
#include "util/file.h"
#include "util/gpu.h"
#include "util/paths.h"

/* A world of 8 ranks at the shapes of the paper takes some hundred MiB for inputs, outputs and symmetric memory. */
#define LEAST_SHM_MB 1024

#define LEAST_FILES 1024 /* 16 descriptors per rank of a large world, and some */

static void check_compiler(struct doctor *d, const char *kind, const char *what, enum doctor_state missing)
{
    struct pkb_error err = {""};
    struct build_toolchain *t = build_toolchain_find(kind, &err);
    if (t)
        doctor_add(d, DOCTOR_OK, "compiler", "", ".%s candidates: %s (%s)", kind, t->compiler, t->version);
    else
        doctor_add(d, missing, "compiler", what, "%s", err.text);
    build_toolchain_destroy(t);
}

static void check_host(struct doctor *d)
{
    struct pkb_error err = {""};
    struct rt_options options = {.world = 1};
    struct rt *rt = rt_open("host", &options, &err);
    if (rt)
        doctor_add(d, DOCTOR_OK, "device host", "", "%s", rt_device_name(rt));
    else
        doctor_add(d, DOCTOR_BAD, "device host", "build and install pkb again", "%s", err.text);
    rt_close(rt);
}

static void check_cuda(struct doctor *d)
{
    struct pkb_error err = {""};
    char *plugin = pkb_path(PKB_PATH_PLUGIN, "backend_cuda.so", &err);
    bool built = plugin && pkb_file_exists(plugin);
    int gpus = gpu_count();
    if (built && gpus > 0)
        doctor_add(d, DOCTOR_OK, "device cuda", "", "%d GPU%s visible here", gpus, gpus == 1 ? "" : "s");
    else if (built)
        doctor_add(d, DOCTOR_NOTE, "device cuda", "none is needed here when jobs run elsewhere",
                   "built, but no GPU is visible on this machine");
    else
        doctor_add(d, gpus > 0 ? DOCTOR_BAD : DOCTOR_NOTE, "device cuda",
                   "configure pkb with --with-cuda to evaluate .cu candidates",
                   "this pkb was built without CUDA; %d GPUs are visible", gpus);
    free(plugin);
}

static void check_shared_memory(struct doctor *d)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) < 0) {
        doctor_add(d, DOCTOR_BAD, "memory", "mount a tmpfs there", "/dev/shm cannot be examined");
        return;
    }
    uint64_t free_mb = ((uint64_t)fs.f_bavail * fs.f_frsize) >> 20;
    if (free_mb >= LEAST_SHM_MB)
        doctor_add(d, DOCTOR_OK, "memory", "", "%llu MiB of shared memory", (unsigned long long)free_mb);
    else
        doctor_add(d, DOCTOR_NOTE, "memory", "mount -o remount,size=8G /dev/shm; containers: --shm-size=8g",
                   "only %llu MiB of shared memory are free in /dev/shm: large shapes will not fit", (unsigned long long)free_mb);
}

static void check_files(struct doctor *d)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= LEAST_FILES)
        return;
    doctor_add(d, DOCTOR_BAD, "limits", "ulimit -n 4096", "only %llu open files are allowed", (unsigned long long)l.rlim_cur);
}

static void check_confinement(struct doctor *d)
{
    int version = confine_version();
    if (version >= 6)
        doctor_add(d, DOCTOR_OK, "candidates", "",
                   "confined by Landlock: they write no files, and reach no process but their own");
    else if (version > 0)
        doctor_add(d, DOCTOR_OK, "candidates", "", "confined by Landlock: they write no files (signals need Linux 6.12)");
    else
        doctor_add(d, DOCTOR_NOTE, "candidates", "use Linux 5.13 or later with Landlock, or an account that has nothing to lose",
                   "not confined: they can write whatever you can");
}

void doctor_machine(struct doctor *d)
{
    doctor_add(d, DOCTOR_OK, "pkb", "", "version %s, build %s", PACKAGE_VERSION, PKB_BUILD_ID);
    check_compiler(d, "c", "install a C compiler, or let PKB_CC name one", DOCTOR_BAD);
    check_compiler(d, "cu", "only .cu candidates need it: install the CUDA toolkit, or let PKB_NVCC name nvcc", DOCTOR_NOTE);
    check_host(d);
    check_cuda(d);
    check_shared_memory(d);
    check_files(d);
    check_confinement(d);
}
