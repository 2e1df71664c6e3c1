/* SPDX-License-Identifier: Apache-2.0 */
/* This machine's CPUs as a topology: every usable core is a device. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/machine.h"
#include "topology/measure.h"
#include "topology/topology.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct topology cached; /* schema 0: not measured yet */

static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n <= 4096 ? (int)n : 1;
}

static double least(double value, double limit)
{
    return value > limit ? value : limit;
}

/* Figures of a device: one core, alone. The cache is the whole machine's, since any core may fill it. */
static int measure_device(struct topology_device *d, const struct machine *m, struct pkb_error *err)
{
    double *peak = d->peak_tflops;
    d->kind = DEVICE_CPU;
    (void)snprintf(d->name, sizeof(d->name), "%s", m->cpu_name[0] ? m->cpu_name : "CPU");
    d->memory_gb = least((double)m->memory_bytes / 1e9, 1e-3);
    d->l2_mib = least((double)m->cache_bytes / (1 << 20), 1e-3);
    if (measure_memory(m->cache_bytes, &d->memory_bandwidth_gb_s, err) < 0 ||
        measure_flops(&peak[PEAK_F32], &peak[PEAK_F64], err) < 0)
        return -1;
    /* The host backend multiplies narrow types in f32. */
    peak[PEAK_BF16] = peak[PEAK_F32];
    peak[PEAK_F16] = peak[PEAK_F32];
    return 0;
}

static int measure_host(struct topology *t, struct pkb_error *err)
{
    struct machine m;
    struct topology_link *link = &t->links[0];
    memset(t, 0, sizeof(*t));
    (void)strcpy(t->name, TOPOLOGY_HOST);
    (void)strcpy(t->description, "CPUs of this machine, measured: a device is one core, links are shared memory");
    t->figures = FIGURES_MEASURED;
    t->gpus_per_node = usable_cores();
    t->nodes_per_domain = 1;
    if (machine_read(NULL, &m, err) < 0 || measure_device(&t->device, &m, err) < 0)
        return -1;
    t->n_links = 1;
    (void)strcpy(link->name, "shared-memory");
    link->span = SPAN_NODE;
    if (measure_link(&link->bandwidth_gb_s, &link->latency_us, err) < 0)
        return -1;
    t->schema = TOPOLOGY_SCHEMA;
    return 0;
}

int topology_measure_host(struct topology *t, struct pkb_error *err)
{
    (void)pthread_mutex_lock(&lock);
    int rc = cached.schema ? 0 : measure_host(&cached, err);
    if (rc < 0)
        cached.schema = 0;
    *t = cached;
    (void)pthread_mutex_unlock(&lock);
    return rc < 0 ? pkb_error_prefix(err, "measuring this machine") : 0;
}
