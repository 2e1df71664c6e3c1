/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as text and JSON. */
#include <string.h>

#include "topology/machine.h"

static const char *port_kind(const struct machine_port *p)
{
    return p->kind == PORT_ETHERNET ? "roce" : "infiniband";
}

static json_t *encode_gpus(const struct machine *m)
{
    json_t *list = json_array();
    for (int i = 0; list && i < m->n_gpus; i++) {
        const struct machine_gpu *g = &m->gpus[i];
        if (json_array_append_new(
                list, json_pack("{s:s, s:s, s:i}", "address", g->address, "pci_id", g->id, "numa_node", g->numa_node)) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *encode_ports(const struct machine *m)
{
    json_t *list = json_array();
    for (int i = 0; list && i < m->n_ports; i++) {
        const struct machine_port *p = &m->ports[i];
        json_t *port = json_pack("{s:s, s:i, s:s, s:f, s:b, s:i}", "device", p->device, "port", p->number, "kind", port_kind(p),
                                 "gbit_s", p->gbit_s, "active", p->active, "numa_node", p->numa_node);
        if (json_array_append_new(list, port) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *machine_encode(const struct machine *m)
{
    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:o, s:s, s:i, s:o}", "cpu", m->cpu_name, "cpus", m->cpus, "cores",
                     m->cores, "packages", m->packages, "numa_nodes", m->numa_nodes, "memory_bytes", (json_int_t)m->memory_bytes,
                     "cache_bytes", (json_int_t)m->cache_bytes, "gpus", encode_gpus(m), "gpu_name", m->gpu_name, "driver_gpus",
                     m->driver_gpus, "ports", encode_ports(m));
}

static void print_gpus(const struct machine *m, const char *prefix, FILE *out)
{
    if (m->n_gpus == 0)
        (void)fprintf(out, "%sno GPUs\n", prefix);
    for (int i = 0; i < m->n_gpus; i++)
        (void)fprintf(out, "%sGPU %s, PCI id %s, NUMA node %d\n", prefix, m->gpus[i].address, m->gpus[i].id,
                      m->gpus[i].numa_node);
    if (m->n_gpus > 0 && m->driver_gpus < 0)
        (void)fprintf(out, "%sthe NVIDIA driver was not asked, or there is none\n", prefix);
    else if (m->n_gpus > 0)
        (void)fprintf(out, "%sthe NVIDIA driver shows %d: %s\n", prefix, m->driver_gpus, m->gpu_name);
}

void machine_print(const struct machine *m, const char *prefix, FILE *out)
{
    (void)fprintf(out, "%s%s: %d CPUs, %d cores, %d packages, %d NUMA nodes\n", prefix, m->cpu_name[0] ? m->cpu_name : "CPU",
                  m->cpus, m->cores, m->packages, m->numa_nodes);
    (void)fprintf(out, "%s%.1f GB memory, %.1f MiB last-level cache\n", prefix, (double)m->memory_bytes / 1e9,
                  (double)m->cache_bytes / (1 << 20));
    print_gpus(m, prefix, out);
    if (m->n_ports == 0)
        (void)fprintf(out, "%sno InfiniBand or RoCE ports\n", prefix);
    for (int i = 0; i < m->n_ports; i++) {
        const struct machine_port *p = &m->ports[i];
        (void)fprintf(out, "%s%s port %d: %s, %g Gbit/s, %s, NUMA node %d\n", prefix, p->device, p->number, port_kind(p),
                      p->gbit_s, p->active ? "active" : "down", p->numa_node);
    }
}
