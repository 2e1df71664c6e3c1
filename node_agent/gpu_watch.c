/* SPDX-License-Identifier: Apache-2.0 */
/* Asks NVML about one GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/gpu_state.h"

#define MAX_PROCESSES 256
#define MAX_DEPTH 64 /* of process trees */

struct gpu_watch {
    struct nvml *nvml; /* NULL: none */
    struct gpu gpu;
    nvml_events events; /* NULL: no Xids */
    struct pkb_error why;
};

/* ---- life -------------------------------------------------------------------------------------------------------------- */

static int find_gpu(struct gpu_watch *w, int ordinal, struct pkb_error *err)
{
    struct gpu_list list;
    if (gpu_list_visible(w->nvml, getenv("CUDA_VISIBLE_DEVICES"), &list, err) < 0)
        return -1;
    if (ordinal < 0 || ordinal >= list.n)
        return pkb_error_set(err, "GPU %d of %d visible ones", ordinal, list.n);
    w->gpu = list.gpu[ordinal];
    return 0;
}

/* Without them everything else still works. */
static void watch_xids(struct gpu_watch *w)
{
    const struct nvml *n = w->nvml;
    if (!n->events_create || !n->events_register || !n->events_wait || !n->events_free)
        return;
    if (n->events_create(&w->events) != NVML_OK) {
        w->events = NULL;
    } else if (n->events_register(w->gpu.device, NVML_EVENT_XID, w->events) != NVML_OK) {
        (void)n->events_free(w->events);
        w->events = NULL;
    }
}

struct gpu_watch *gpu_watch_create(int ordinal)
{
    struct gpu_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->nvml = nvml_open(NULL, &w->why);
    if (w->nvml && find_gpu(w, ordinal, &w->why) < 0) {
        nvml_close(w->nvml);
        w->nvml = NULL;
    }
    if (w->nvml)
        watch_xids(w);
    return w;
}

void gpu_watch_destroy(struct gpu_watch *w)
{
    if (!w)
        return;
    int saved = errno;
    if (w->events)
        (void)w->nvml->events_free(w->events);
    nvml_close(w->nvml);
    free(w);
    errno = saved;
}

const char *gpu_watch_uuid(const struct gpu_watch *w)
{
    return w ? w->gpu.uuid : "";
}

/* ---- processes --------------------------------------------------------------------------------------------------------- */

/* The parent of a process; 0: it is not shown here. */
static pid_t parent_of(pid_t pid)
{
    char path[64], line[512];
    int parent = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    if (fgets(line, sizeof(line), f)) {
        const char *end = strrchr(line, ')'); /* the name may hold anything */
        if (!end || sscanf(end + 1, " %*c %d", &parent) != 1)
            parent = 0;
    }
    (void)fclose(f);
    return parent;
}

static bool is_foreign(pid_t pid, pid_t ours)
{
    if (parent_of(pid) == 0)
        return false;
    for (int depth = 0; pid > 1 && depth < MAX_DEPTH; depth++) {
        if (pid == ours)
            return false;
        pid = parent_of(pid);
    }
    return true;
}

static void look_for_others(const struct gpu_watch *w, pid_t ours, struct gpu_state *s)
{
    struct nvml_process list[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES;
    if (!w->nvml->processes || w->nvml->processes(w->gpu.device, &n, list) != NVML_OK)
        return;
    for (unsigned i = 0; i < n && s->foreign == 0; i++)
        if (is_foreign((pid_t)list[i].pid, ours))
            s->foreign = (pid_t)list[i].pid;
}

/* ---- looking ----------------------------------------------------------------------------------------------------------- */

static void collect_xids(const struct gpu_watch *w, struct gpu_state *s)
{
    struct nvml_event e;
    while (w->events && w->nvml->events_wait(w->events, &e, 0) == NVML_OK)
        if ((e.type & NVML_EVENT_XID) && s->n_xids < GPU_STATE_XIDS)
            s->xids[s->n_xids++] = (int)e.data;
}

static void read_clocks(const struct gpu_watch *w, struct gpu_state *s)
{
    const struct nvml *n = w->nvml;
    unsigned long long bits;
    if (n->clock) {
        if (n->clock(w->gpu.device, NVML_CLOCK_SM, &s->sm_mhz) != NVML_OK)
            s->sm_mhz = 0;
        if (n->clock(w->gpu.device, NVML_CLOCK_MEMORY, &s->memory_mhz) != NVML_OK)
            s->memory_mhz = 0;
    }
    if (n->max_clock && n->max_clock(w->gpu.device, NVML_CLOCK_SM, &s->sm_max_mhz) != NVML_OK)
        s->sm_max_mhz = 0;
    if (n->temperature && n->temperature(w->gpu.device, 0, &s->celsius) != NVML_OK)
        s->celsius = 0;
    if (n->power && n->power(w->gpu.device, &s->milliwatts) != NVML_OK)
        s->milliwatts = 0;
    if (n->throttle_reasons && n->throttle_reasons(w->gpu.device, &bits) == NVML_OK)
        s->throttle = bits;
}

static void read_memory(const struct gpu_watch *w, struct gpu_state *s)
{
    struct nvml_memory m;
    unsigned long long errors;
    if (w->nvml->memory && w->nvml->memory(w->gpu.device, &m) == NVML_OK)
        s->memory_used = m.used;
    if (w->nvml->ecc_errors && w->nvml->ecc_errors(w->gpu.device, NVML_ECC_UNCORRECTED, NVML_ECC_SINCE_LOAD, &errors) == NVML_OK)
        s->uncorrected = (int64_t)errors;
}

void gpu_watch_look(struct gpu_watch *w, pid_t ours, struct gpu_state *s)
{
    char name[96];
    *s = (struct gpu_state){.uncorrected = -1};
    if (!w || !w->nvml) {
        (void)snprintf(s->why, sizeof(s->why), "%.190s", w ? w->why.text : "out of memory");
        return;
    }
    int rc = w->nvml->device_name(w->gpu.device, name, sizeof(name));
    collect_xids(w, s);
    if (rc != NVML_OK) {
        s->lost = rc == NVML_LOST;
        (void)snprintf(s->why, sizeof(s->why), "%.190s", w->nvml->error_string(rc));
        return;
    }
    s->known = true;
    read_clocks(w, s);
    read_memory(w, s);
    look_for_others(w, ours, s);
}
