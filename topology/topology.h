/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of machines: what a device computes and moves, and what connects devices. One model serves rooflines, prompts,
 * placement and validation. docs/topology.md is the reference of the file format.
 *
 * Figures keep the units of the files, which are in the names: _gb_s is 10^9 bytes per second, _gb 10^9 bytes, _mib 2^20 bytes,
 * _tflops 10^12 operations per second, _us microseconds. 0 stands for "not known".
 */
#ifndef PKB_TOPOLOGY_TOPOLOGY_H
#define PKB_TOPOLOGY_TOPOLOGY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/digest.h"
#include "util/error.h"

#define TOPOLOGY_SCHEMA 1
#define TOPOLOGY_HOST "host" /* the name of this machine's CPUs, measured */
#define TOPOLOGY_MAX_LINKS 8
#define TOPOLOGY_MAX_PCI_IDS 8
#define TOPOLOGY_MAX_ESTIMATES 32
#define TOPOLOGY_TEXT 96

/* Where the figures come from. */
enum topology_figures { FIGURES_DATASHEET, FIGURES_ESTIMATE, FIGURES_MEASURED };

enum topology_kind { DEVICE_GPU, DEVICE_CPU };

/* Which ranks a link class connects: those of a node, of an NVLink domain (one or more nodes), all. */
enum topology_span { SPAN_NODE, SPAN_DOMAIN, SPAN_CLUSTER, SPAN_COUNT };

/* Dense operations per second by input type: a multiply-add counts two. */
enum topology_peak { PEAK_FP4, PEAK_FP8, PEAK_I8, PEAK_BF16, PEAK_F16, PEAK_TF32, PEAK_F32, PEAK_F64, PEAK_COUNT };

struct topology_device {
    char name[TOPOLOGY_TEXT];
    int kind; /* enum topology_kind */
    int multiprocessors;
    double memory_gb, memory_bandwidth_gb_s;
    double l2_mib; /* the last cache before memory, of all multiprocessors or cores together */
    double peak_tflops[PEAK_COUNT];
    char pci_ids[TOPOLOGY_MAX_PCI_IDS][TOPOLOGY_TEXT]; /* "10de:2330", by which `pkb topo discover` knows it */
    int n_pci_ids;
};

struct topology_link {
    char name[TOPOLOGY_TEXT];
    int span;                  /* enum topology_span */
    double bandwidth_gb_s;     /* per direction and GPU */
    double latency_us;         /* one way, GPU to GPU */
    bool in_network_reduction; /* switches add and multicast (NVLS, SHARP) */
    int rails;                 /* network ports of a node; 0: no network */
    double rail_gbit_s;        /* line rate of a port */
};

struct topology {
    int schema;
    char name[TOPOLOGY_TEXT]; /* also the name of its file, without .yaml */
    char description[512];
    int figures; /* enum topology_figures */
    int gpus_per_node;
    int nodes_per_domain; /* nodes of an NVLink domain; 1: NVLink ends at the node */
    struct topology_device device;
    struct topology_link links[TOPOLOGY_MAX_LINKS];
    int n_links;
    char estimates[TOPOLOGY_MAX_ESTIMATES][TOPOLOGY_TEXT]; /* figures that no datasheet gives: "links.nvlink4.latency_us" */
    int n_estimates;
};

/* ---- files (topology/file.c, decode.c, encode.c) ------------------------------------------------------------------- */

/* A description from YAML: everything is checked. Errors give line and key, and suggest the likely one for an unknown key. */
int topology_parse(const char *text, size_t size, struct topology *t, struct pkb_error *err);

/* From a file; its name without .yaml must be the topology's. The error names the file. */
int topology_read(const char *path, struct topology *t, struct pkb_error *err);

/* By name: TOPOLOGY_HOST is measured (once per process); otherwise NAME.yaml of pkb's own topology/ folder, then of `folder` (may be
 * NULL). A name with a '/' or ending in .yaml is a path. An unknown name is an error that lists or suggests the known ones. */
int topology_find(const char *name, const char *folder, struct topology *t, struct pkb_error *err);

/* The names that topology_find knows, sorted, TOPOLOGY_HOST included. */
struct topology_names {
    char **names;
    size_t n;
};
int topology_list(const char *folder, struct topology_names *list, struct pkb_error *err);
void topology_names_clear(struct topology_names *list);

/* As YAML that topology_parse reads back to the same figures. 0, or -1 with errno of the stream. */
int topology_print(const struct topology *t, FILE *out);

/* As an object with the members of the file format (new reference; NULL when memory runs out), and back. */
json_t *topology_encode(const struct topology *t);
int topology_decode(const json_t *value, struct topology *t, struct pkb_error *err);

/* ---- copies that runs keep (topology/copy.c) ------------------------------------------------------------------------- */

/* SHA-256 of what topology_encode gives, compact and with sorted keys: the same for equal figures, however a file was written. */
int topology_digest(const struct topology *t, char hex[PKB_DIGEST_HEX], struct pkb_error *err);

/* {"name":..., "digest":..., "content": what topology_encode gives} (new reference), and back: a content that does not fit its digest
 * is an error. */
json_t *topology_copy_encode(const struct topology *t, struct pkb_error *err);
int topology_copy_decode(const json_t *value, struct topology *t, struct pkb_error *err);

/* Words of the enumerations. */
extern const char *const topology_figures_words[];
extern const char *const topology_kind_words[];
extern const char *const topology_span_words[];
extern const char *const topology_peak_words[];

/* ---- this machine (topology/host.c) ---------------------------------------------------------------------------------- */

/* The CPUs of this machine as devices: every core is one. Takes about a second, once per process. */
int topology_measure_host(struct topology *t, struct pkb_error *err);

#endif
