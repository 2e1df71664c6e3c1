/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/schema.h"

#include <string.h>

const char *const topology_figures_words[] = {"datasheet", "estimate", "measured", NULL};
const char *const topology_kind_words[] = {"gpu", "cpu", NULL};
const char *const topology_span_words[] = {"node", "domain", "cluster", NULL};
const char *const topology_peak_words[] = {"fp4", "fp8_e4m3", "i8", "bf16", "f16", "tf32", "f32", "f64", NULL};

#define REAL(type, member, low, high, must)                                                                                      \
    {                                                                                                                            \
        .key = #member, .kind = ENTRY_REAL, .required = (must), .offset = offsetof(type, member), .min = (low), .max = (high)    \
    }
#define INT(type, member, low, high, must)                                                                                       \
    {                                                                                                                            \
        .key = #member, .kind = ENTRY_INT, .required = (must), .offset = offsetof(type, member), .min = (low), .max = (high)     \
    }
#define TEXT(type, member, how, must)                                                                                            \
    {                                                                                                                            \
        .key = #member, .kind = (how), .required = (must), .offset = offsetof(type, member), .size = sizeof(((type *)0)->member) \
    }
#define WORD(type, member, list)                                                                                                 \
    {                                                                                                                            \
        .key = #member, .kind = ENTRY_WORD, .required = true, .offset = offsetof(type, member), .words = (list)                  \
    }
#define PEAK(name, which)                                                                                                        \
    {                                                                                                                            \
        .key = (name), .kind = ENTRY_REAL, .offset = sizeof(double) * (which), .min = 1e-6, .max = 1e6                           \
    }
#define TABLE(list)                                                                                                              \
    {                                                                                                                            \
        (list), sizeof(list) / sizeof((list)[0])                                                                                 \
    }

static const struct entry peaks[] = {
    PEAK("fp4", PEAK_FP4), PEAK("fp8_e4m3", PEAK_FP8), PEAK("i8", PEAK_I8),   PEAK("bf16", PEAK_BF16),
    PEAK("f16", PEAK_F16), PEAK("tf32", PEAK_TF32),    PEAK("f32", PEAK_F32), PEAK("f64", PEAK_F64),
};
const struct entry_table topology_peaks_table = TABLE(peaks);

static const struct entry device[] = {
    TEXT(struct topology_device, name, ENTRY_TEXT, true),
    WORD(struct topology_device, kind, topology_kind_words),
    INT(struct topology_device, multiprocessors, 1, 100000, false),
    REAL(struct topology_device, memory_gb, 1e-3, 1e5, true),
    REAL(struct topology_device, memory_bandwidth_gb_s, 1e-3, 1e6, true),
    REAL(struct topology_device, l2_mib, 1e-3, 1e5, true),
    {.key = "peak_tflops",
     .kind = ENTRY_MAP,
     .required = true,
     .offset = offsetof(struct topology_device, peak_tflops),
     .table = &topology_peaks_table},
    {.key = "pci_ids",
     .kind = ENTRY_TEXTS,
     .offset = offsetof(struct topology_device, pci_ids),
     .max = TOPOLOGY_MAX_PCI_IDS,
     .count = offsetof(struct topology_device, n_pci_ids)},
};
const struct entry_table topology_device_table = TABLE(device);

static const struct entry link[] = {
    TEXT(struct topology_link, name, ENTRY_NAME, true),
    WORD(struct topology_link, span, topology_span_words),
    REAL(struct topology_link, bandwidth_gb_s, 1e-3, 1e5, true),
    REAL(struct topology_link, latency_us, 1e-3, 1e6, true),
    {.key = "in_network_reduction", .kind = ENTRY_BOOL, .offset = offsetof(struct topology_link, in_network_reduction)},
    INT(struct topology_link, rails, 1, 1024, false),
    REAL(struct topology_link, rail_gbit_s, 1e-3, 1e5, false),
};
const struct entry_table topology_link_table = TABLE(link);

static const struct entry top[] = {
    INT(struct topology, schema, TOPOLOGY_SCHEMA, TOPOLOGY_SCHEMA, true),
    TEXT(struct topology, name, ENTRY_NAME, true),
    TEXT(struct topology, description, ENTRY_TEXT, false),
    WORD(struct topology, figures, topology_figures_words),
    INT(struct topology, gpus_per_node, 1, 4096, true),
    INT(struct topology, nodes_per_domain, 1, 4096, false),
    {.key = "device",
     .kind = ENTRY_MAP,
     .required = true,
     .offset = offsetof(struct topology, device),
     .table = &topology_device_table},
    {.key = "links",
     .kind = ENTRY_MAPS,
     .required = true,
     .offset = offsetof(struct topology, links),
     .size = sizeof(struct topology_link),
     .max = TOPOLOGY_MAX_LINKS,
     .table = &topology_link_table,
     .count = offsetof(struct topology, n_links)},
    {.key = "estimates",
     .kind = ENTRY_TEXTS,
     .offset = offsetof(struct topology, estimates),
     .max = TOPOLOGY_MAX_ESTIMATES,
     .count = offsetof(struct topology, n_estimates)},
};
const struct entry_table topology_table = TABLE(top);

const struct entry *schema_entry(const struct entry_table *table, const char *key)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->entries[i].key, key) == 0)
            return &table->entries[i];
    return NULL;
}

static int check_link(const struct topology *t, const struct topology_link *l, struct pkb_error *err)
{
    if ((l->rails > 0) != (l->rail_gbit_s > 0))
        return pkb_error_set(err, "link %s: rails and rail_gbit_s belong together", l->name);
    if (l->rails > 0 && l->span != SPAN_CLUSTER)
        return pkb_error_set(err, "link %s: rails are network ports; the span must be cluster", l->name);
    double node = l->rails * l->rail_gbit_s / 8, asked = l->bandwidth_gb_s * t->gpus_per_node;
    if (l->rails > 0 && asked > node * 1.001)
        return pkb_error_set(err, "link %s: %d GPUs at %g GB/s need more than its %d rails of %g Gbit/s carry (%g GB/s)", l->name,
                             t->gpus_per_node, l->bandwidth_gb_s, l->rails, l->rail_gbit_s, node);
    if (l->span == SPAN_DOMAIN && t->nodes_per_domain == 1)
        return pkb_error_set(err, "link %s spans a domain, but nodes_per_domain is 1: the span is node", l->name);
    for (const struct topology_link *other = t->links; other < l; other++)
        if (strcmp(other->name, l->name) == 0)
            return pkb_error_set(err, "two links are named %s", l->name);
    return 0;
}

static int check_links(const struct topology *t, struct pkb_error *err)
{
    bool spans[SPAN_COUNT] = {false};
    for (int i = 0; i < t->n_links; i++) {
        if (check_link(t, &t->links[i], err) < 0)
            return -1;
        spans[t->links[i].span] = true;
    }
    bool within = spans[SPAN_NODE] || spans[SPAN_DOMAIN] || spans[SPAN_CLUSTER];
    if (t->gpus_per_node > 1 && !within)
        return pkb_error_set(err, "no link connects the %d GPUs of a node", t->gpus_per_node);
    if (t->nodes_per_domain > 1 && !spans[SPAN_DOMAIN])
        return pkb_error_set(err, "nodes_per_domain is %d, but no link spans a domain", t->nodes_per_domain);
    return 0;
}

static int check_device(const struct topology_device *d, struct pkb_error *err)
{
    if (!(d->peak_tflops[PEAK_F32] > 0 && d->peak_tflops[PEAK_BF16] > 0))
        return pkb_error_set(err, "device: peak_tflops needs f32 and bf16 at least");
    for (int i = 0; i < d->n_pci_ids; i++) {
        const char *id = d->pci_ids[i];
        if (strlen(id) != 9 || strspn(id, "0123456789abcdef") != 4 || id[4] != ':' || strspn(id + 5, "0123456789abcdef") != 4)
            return pkb_error_set(err, "device: pci_ids: '%s' is not vendor:device in lower-case hexadecimal, like 10de:2330", id);
    }
    return 0;
}

/* "links.NAME.KEY", "device.KEY" or "device.peak_tflops.KEY" of something that is there. */
static bool names_figure(const struct topology *t, const char *path)
{
    static const char peak[] = "device.peak_tflops.", dev[] = "device.", links[] = "links.";
    if (strncmp(path, peak, sizeof(peak) - 1) == 0)
        return schema_entry(&topology_peaks_table, path + sizeof(peak) - 1) != NULL;
    if (strncmp(path, dev, sizeof(dev) - 1) == 0)
        return schema_entry(&topology_device_table, path + sizeof(dev) - 1) != NULL;
    if (strncmp(path, links, sizeof(links) - 1) != 0)
        return false;
    path += sizeof(links) - 1;
    for (int i = 0; i < t->n_links; i++) {
        size_t n = strlen(t->links[i].name);
        if (strncmp(path, t->links[i].name, n) == 0 && path[n] == '.' && schema_entry(&topology_link_table, path + n + 1))
            return true;
    }
    return false;
}

int topology_check(const struct topology *t, struct pkb_error *err)
{
    if (check_device(&t->device, err) < 0 || check_links(t, err) < 0)
        return -1;
    for (int i = 0; i < t->n_estimates; i++)
        if (!names_figure(t, t->estimates[i]))
            return pkb_error_set(err, "estimates: '%s' names no figure of this file; expected for instance links.NAME.latency_us",
                                 t->estimates[i]);
    return 0;
}
