/* SPDX-License-Identifier: Apache-2.0 */
/* What sysfs says. */
#include "topology/machine.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "topology/sysfs.h"

#define MAX_CPUS 16384
#define CPUS "sys/devices/system/cpu"
#define NODES "sys/devices/system/node"
#define PCI "sys/bus/pci/devices"
#define RDMA "sys/class/infiniband"

struct reading {
    const char *root;
    struct machine *m;
    int level;          /* of the last cache */
    const char *device; /* RDMA device whose ports are being read */
};

/* ---- CPUs ---------------------------------------------------------------------------------------------------------- */

/* Whether a CPU is the first of those that a list of siblings names: then it stands for all of them. */
static bool is_first(const struct reading *r, const char *path, int cpu)
{
    return sysfs_number(r->root, path, -1) == cpu;
}

static int64_t parse_size(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (value <= 0 || value > (1LL << 40))
        return 0;
    return *end == 'K' ? value << 10 : *end == 'M' ? value << 20 : value;
}

static void read_cache(struct reading *r, int cpu, int index)
{
    char path[SYSFS_TEXT], text[SYSFS_TEXT];
    (void)snprintf(path, sizeof(path), CPUS "/cpu%d/cache/index%d/level", cpu, index);
    long level = sysfs_number(r->root, path, 0);
    (void)snprintf(path, sizeof(path), CPUS "/cpu%d/cache/index%d/shared_cpu_list", cpu, index);
    if (level < r->level || level < 1 || level > 9 || !is_first(r, path, cpu))
        return;
    (void)snprintf(path, sizeof(path), CPUS "/cpu%d/cache/index%d/size", cpu, index);
    int64_t size = sysfs_text(r->root, path, text, sizeof(text)) ? parse_size(text) : 0;
    if (level > r->level)
        r->m->cache_bytes = 0;
    r->level = (int)level;
    if (r->m->cache_bytes <= INT64_MAX / 2)
        r->m->cache_bytes += size;
}

static void read_cpu(void *arg, int cpu)
{
    struct reading *r = arg;
    char path[SYSFS_TEXT];
    (void)snprintf(path, sizeof(path), CPUS "/cpu%d/topology/thread_siblings_list", cpu);
    r->m->cores += is_first(r, path, cpu);
    (void)snprintf(path, sizeof(path), CPUS "/cpu%d/topology/core_siblings_list", cpu);
    r->m->packages += is_first(r, path, cpu);
    for (int index = 0; index < 10; index++)
        read_cache(r, cpu, index);
}

static void read_cpu_name(struct reading *r)
{
    char path[PATH_MAX], line[512];
    (void)snprintf(path, sizeof(path), "%s/proc/cpuinfo", r->root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon)
            continue;
        size_t n = 0;
        for (const char *p = colon + 1 + strspn(colon + 1, " \t"); *p && n + 1 < sizeof(r->m->cpu_name); p++)
            if (isprint((unsigned char)*p))
                r->m->cpu_name[n++] = *p;
        r->m->cpu_name[n] = '\0';
        break;
    }
    if (f)
        (void)fclose(f);
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static void read_node(void *arg, int node)
{
    struct reading *r = arg;
    char path[SYSFS_TEXT], line[SYSFS_TEXT];
    (void)snprintf(path, sizeof(path), NODES "/node%d/meminfo", node);
    if (!sysfs_text(r->root, path, line, sizeof(line)))
        return;
    const char *total = strstr(line, "MemTotal:"); /* the first line: "Node 0 MemTotal: 123 kB" */
    long long kib = total ? strtoll(total + 9, NULL, 10) : 0;
    if (kib > 0 && kib < (1LL << 40))
        r->m->memory_bytes += kib << 10;
}

static void read_memory(struct reading *r)
{
    char list[SYSFS_TEXT];
    bool there = sysfs_text(r->root, NODES "/online", list, sizeof(list));
    r->m->numa_nodes = there ? sysfs_list(list, 1024, read_node, r) : 0;
    if (r->m->numa_nodes < 1)
        r->m->numa_nodes = 1;
}

/* ---- devices ------------------------------------------------------------------------------------------------------- */

/* Display controllers and processing accelerators of the makers of compute GPUs; a board's console graphics are others'. */
static bool is_gpu(long vendor, long class)
{
    return (vendor == 0x10de || vendor == 0x1002) && (class >> 16 == 0x03 || class >> 16 == 0x12);
}

static void read_pci(void *arg, const char *address)
{
    struct reading *r = arg;
    struct machine *m = r->m;
    char path[SYSFS_TEXT + 64];
    if (strlen(address) >= sizeof(m->gpus[0].address) || m->n_gpus == MACHINE_MAX_GPUS)
        return;
    (void)snprintf(path, sizeof(path), PCI "/%s/vendor", address);
    long vendor = sysfs_number(r->root, path, 0);
    (void)snprintf(path, sizeof(path), PCI "/%s/class", address);
    if (!is_gpu(vendor, sysfs_number(r->root, path, 0)))
        return;
    struct machine_gpu *gpu = &m->gpus[m->n_gpus++];
    (void)snprintf(gpu->address, sizeof(gpu->address), "%s", address);
    (void)snprintf(path, sizeof(path), PCI "/%s/device", address);
    (void)snprintf(gpu->id, sizeof(gpu->id), "%04lx:%04lx", vendor & 0xffff, sysfs_number(r->root, path, 0) & 0xffff);
    (void)snprintf(path, sizeof(path), PCI "/%s/numa_node", address);
    gpu->numa_node = (int)sysfs_number(r->root, path, -1);
}

static void read_port(void *arg, const char *name)
{
    struct reading *r = arg;
    struct machine *m = r->m;
    char path[SYSFS_TEXT], text[SYSFS_TEXT];
    int number = atoi(name);
    if (number < 1 || m->n_ports == MACHINE_MAX_PORTS)
        return;
    struct machine_port *p = &m->ports[m->n_ports];
    memset(p, 0, sizeof(*p));
    (void)snprintf(p->device, sizeof(p->device), "%s", r->device);
    p->number = number;
    (void)snprintf(path, sizeof(path), RDMA "/%s/ports/%d/rate", r->device, number); /* "400 Gb/sec (4X NDR)" */
    if (!sysfs_text(r->root, path, text, sizeof(text)))
        return;
    p->gbit_s = strtod(text, NULL);
    if (!(p->gbit_s > 0 && p->gbit_s < 1e5))
        return;
    (void)snprintf(path, sizeof(path), RDMA "/%s/ports/%d/state", r->device, number); /* "4: ACTIVE" */
    p->active = sysfs_number(r->root, path, 0) == 4;
    (void)snprintf(path, sizeof(path), RDMA "/%s/ports/%d/link_layer", r->device, number);
    (void)sysfs_text(r->root, path, text, sizeof(text));
    p->kind = strcmp(text, "Ethernet") == 0 ? PORT_ETHERNET : PORT_INFINIBAND;
    (void)snprintf(path, sizeof(path), RDMA "/%s/device/numa_node", r->device);
    p->numa_node = (int)sysfs_number(r->root, path, -1);
    m->n_ports++;
}

static void read_rdma(void *arg, const char *device)
{
    struct reading *r = arg;
    char path[SYSFS_TEXT];
    if (strlen(device) >= sizeof(r->m->ports[0].device))
        return;
    r->device = device;
    (void)snprintf(path, sizeof(path), RDMA "/%s/ports", device);
    sysfs_each(r->root, path, read_port, r);
}

/* ---- the whole ----------------------------------------------------------------------------------------------------- */

int machine_read(const char *root, struct machine *m, struct pkb_error *err)
{
    struct reading r = {.root = root ? root : "", .m = m};
    char list[SYSFS_TEXT];
    memset(m, 0, sizeof(*m));
    m->driver_gpus = -1;
    if (sysfs_text(r.root, CPUS "/online", list, sizeof(list)))
        m->cpus = sysfs_list(list, MAX_CPUS, read_cpu, &r);
    if (m->cpus == 0)
        return pkb_error_set(err, "%s/" CPUS "/online lists no CPUs: this is no root of a Linux machine", r.root);
    read_cpu_name(&r);
    read_memory(&r);
    sysfs_each(r.root, PCI, read_pci, &r);
    sysfs_each(r.root, RDMA, read_rdma, &r);
    return 0;
}
