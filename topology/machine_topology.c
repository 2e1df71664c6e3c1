/* SPDX-License-Identifier: Apache-2.0 */
/* From what a machine has to a topology. */
#include <string.h>

#include "topology/machine.h"

/* Of port-to-port transfers between GPUs, where nothing was measured. */
#define INFINIBAND_LATENCY_US 2.0
#define ROCE_LATENCY_US 4.0

static int check_gpus(const struct machine *m, struct pkb_error *err)
{
    if (m->n_gpus == 0)
        return pkb_error_set(err, "there are no GPUs");
    for (int i = 1; i < m->n_gpus; i++)
        if (strcmp(m->gpus[i].id, m->gpus[0].id) != 0)
            return pkb_error_set(err, "the GPUs differ: %s is %s, %s is %s; a topology describes equal ones", m->gpus[0].address,
                                 m->gpus[0].id, m->gpus[i].address, m->gpus[i].id);
    return 0;
}

static bool lists_id(const struct topology *t, const char *id)
{
    for (int i = 0; i < t->device.n_pci_ids; i++)
        if (strcmp(t->device.pci_ids[i], id) == 0)
            return true;
    return false;
}

/* The first of the known topologies that lists the id. */
static int find_device(const char *id, const char *folder, struct topology *t, struct pkb_error *err)
{
    struct topology_names list;
    bool found = false;
    int rc = topology_list(folder, &list, err);
    for (size_t i = 0; rc == 0 && i < list.n && !found; i++) {
        if (strcmp(list.names[i], TOPOLOGY_HOST) == 0)
            continue;
        rc = topology_find(list.names[i], folder, t, err);
        found = rc == 0 && lists_id(t, id);
    }
    if (rc == 0 && !found)
        rc = pkb_error_set(
            err,
            "no topology lists the PCI id %s of the GPUs; describe them in a file of your own (docs/topology.md) and "
            "name its folder with --dir",
            id);
    topology_names_clear(&list);
    return rc;
}

/* Active ports of the highest rate: slower ones serve storage and management. */
static void choose_ports(const struct machine *m, int *n, double *gbit_s, enum port_kind *kind)
{
    *n = 0;
    *gbit_s = 0;
    for (int i = 0; i < m->n_ports; i++) {
        const struct machine_port *p = &m->ports[i];
        if (!p->active || p->gbit_s < *gbit_s)
            continue;
        if (p->gbit_s > *gbit_s)
            *n = 0;
        *gbit_s = p->gbit_s;
        *kind = p->kind;
        ++*n;
    }
}

static void note_latency(struct topology *t, const struct topology_link *l)
{
    char name[64];
    (void)snprintf(name, sizeof(name), "%.63s", l->name);
    (void)snprintf(t->estimates[t->n_estimates++], TOPOLOGY_TEXT, "links.%s.latency_us", name);
}

static void add_network(const struct machine *m, struct topology *t)
{
    int n;
    double gbit_s;
    enum port_kind kind = PORT_INFINIBAND;
    choose_ports(m, &n, &gbit_s, &kind);
    if (n == 0 || t->n_links == TOPOLOGY_MAX_LINKS)
        return;
    struct topology_link *l = &t->links[t->n_links];
    memset(l, 0, sizeof(*l));
    (void)strcpy(l->name, kind == PORT_ETHERNET ? "roce" : "infiniband");
    l->span = SPAN_CLUSTER;
    l->bandwidth_gb_s = n * gbit_s / 8 / t->gpus_per_node;
    l->latency_us = kind == PORT_ETHERNET ? ROCE_LATENCY_US : INFINIBAND_LATENCY_US;
    l->rails = n;
    l->rail_gbit_s = gbit_s;
    t->n_links++;
    note_latency(t, l);
}

/* Links between GPUs as in the known topology; its network is not this machine's. */
static void keep_local_links(struct topology *t)
{
    int kept = 0;
    for (int i = 0; i < t->n_links; i++)
        if (t->links[i].span != SPAN_CLUSTER)
            t->links[kept++] = t->links[i];
    t->n_links = kept;
    t->n_estimates = 0;
    for (int i = 0; i < kept; i++)
        note_latency(t, &t->links[i]);
}

int machine_topology(const struct machine *m, const char *name, const char *folder, struct topology *t, struct pkb_error *err)
{
    char known[TOPOLOGY_TEXT];
    if (check_gpus(m, err) < 0 || find_device(m->gpus[0].id, folder, t, err) < 0)
        return -1;
    (void)snprintf(known, sizeof(known), "%s", t->name);
    (void)snprintf(t->name, sizeof(t->name), "%s", name);
    (void)snprintf(t->description, sizeof(t->description), "%d x %.64s, discovered; figures of the GPU and its links as in %.64s",
                   m->n_gpus, t->device.name, known);
    t->gpus_per_node = m->n_gpus;
    keep_local_links(t);
    add_network(m, t);
    return 0;
}
