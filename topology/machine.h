/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine has, read from sysfs and, where there are, from hwloc and NVML.
 *
 * Works on a captured tree as well as on the running machine: everything is below a root folder, in which sys/ and proc/ are looked
 * for.
 */
#ifndef PKB_TOPOLOGY_MACHINE_H
#define PKB_TOPOLOGY_MACHINE_H

#include <jansson.h>
#include <stdint.h>

#include "topology/topology.h"
#include "util/error.h"

#define MACHINE_MAX_GPUS 64
#define MACHINE_MAX_PORTS 64

struct machine_gpu {
    char address[32]; /* "0000:18:00.0" */
    char id[16];      /* "10de:2330" */
    int numa_node;    /* -1: not known */
};

enum port_kind { PORT_INFINIBAND, PORT_ETHERNET };

/* A port of an RDMA device. */
struct machine_port {
    char device[64]; /* "mlx5_0" */
    int number;
    enum port_kind kind;
    double gbit_s;
    bool active;
    int numa_node;
};

struct machine {
    char cpu_name[TOPOLOGY_TEXT];
    int cpus;       /* logical, online */
    int cores;      /* 0: not known */
    int packages;   /* 0: not known */
    int numa_nodes; /* at least 1 */
    int64_t memory_bytes;
    int64_t cache_bytes; /* last level, all instances together */
    struct machine_gpu gpus[MACHINE_MAX_GPUS];
    int n_gpus;
    struct machine_port ports[MACHINE_MAX_PORTS];
    int n_ports;
    char gpu_name[TOPOLOGY_TEXT]; /* of the first GPU, from the driver; "" without one */
    int driver_gpus;              /* that the driver shows; -1: no driver */
};

/* Reads sysfs below `root` (NULL: this machine). Only a tree without any CPU is an error. */
int machine_read(const char *root, struct machine *m, struct pkb_error *err);

/* Adds what hwloc knows: packages, cores, caches. `xml` names a file of a captured topology (NULL: this machine). Without hwloc an
 * error that says so. */
int machine_read_hwloc(const char *xml, struct machine *m, struct pkb_error *err);

/* Adds what the NVIDIA driver of this machine knows. Without one nothing: driver_gpus is -1. */
void machine_read_driver(struct machine *m);

/* As an object for --json (new reference; NULL when memory runs out), and as lines for people. */
json_t *machine_encode(const struct machine *m);
void machine_print(const struct machine *m, const char *prefix, FILE *out);

/* The topology of a machine with GPUs: its device and NVLink are those of the shipped topology (or of one in `folder`) that lists the
 * GPU's PCI id, the network is its active ports of the highest rate. An unknown GPU, mixed GPUs or none are errors. */
int machine_topology(const struct machine *m, const char *name, const char *folder, struct topology *t, struct pkb_error *err);

#endif
