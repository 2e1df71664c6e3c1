/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/roofline.h"

#include <string.h>

#include "runtime/dtype.h"

const char *roofline_resource_name(enum roofline_resource r)
{
    static const char *const names[] = {"none", "compute", "memory", "link"};
    return names[r];
}

const char *roofline_verdict_name(enum roofline_verdict v)
{
    static const char *const names[] = {"unknown", "plausible", "above_model", "impossible"};
    return names[v];
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- placement ----------------------------------------------------------------------------------------------------- */

/* How many nodes and NVLink domains the ranks are on. */
struct placement {
    int world, nodes, domains;
    double per_node; /* ranks of the fullest node */
};

static int divide_up(int a, int b)
{
    return a / b + (a % b > 0);
}

static int place(const struct topology *t, int world, int nodes, struct placement *p, struct pkb_error *err)
{
    if (world < 1)
        return pkb_error_set(err, "%d ranks", world);
    if (nodes == 0)
        nodes = t->device.kind == DEVICE_CPU ? 1 : divide_up(world, t->gpus_per_node);
    if (nodes < 1 || nodes > world)
        return pkb_error_set(err, "%d ranks cannot be on %d nodes", world, nodes);
    p->world = world;
    p->nodes = nodes;
    p->domains = divide_up(nodes, t->nodes_per_domain);
    p->per_node = divide_up(world, nodes);
    return 0;
}

/* ---- links --------------------------------------------------------------------------------------------------------- */

/* The fastest class that connects ranks of a span: its own, or a wider one. */
static const struct topology_link *fastest(const struct topology *t, enum topology_span span)
{
    const struct topology_link *best = NULL;
    for (int i = 0; i < t->n_links; i++) {
        const struct topology_link *l = &t->links[i];
        if (l->span >= (int)span && (!best || l->bandwidth_gb_s > best->bandwidth_gb_s))
            best = l;
    }
    return best;
}

/* What all classes of a span and wider carry together, in bytes per second and rank. The ports of a node are shared by the ranks that
 * are there. */
static double all_links(const struct topology *t, const struct placement *p, enum topology_span span)
{
    double sum = 0;
    for (int i = 0; i < t->n_links; i++) {
        const struct topology_link *l = &t->links[i];
        if (l->span < (int)span)
            continue;
        sum += l->rails > 0 ? larger(l->bandwidth_gb_s, l->rails * l->rail_gbit_s / 8 / p->per_node) : l->bandwidth_gb_s;
    }
    return sum * 1e9;
}

/* Of the W - 1 other ranks' worth of traffic, the least that must cross each span: once per other domain between domains, once
 * per other node of a domain between its nodes, the rest stays in the node. */
static void split(const struct placement *p, double share[SPAN_COUNT])
{
    double others = p->world - 1.0;
    share[SPAN_CLUSTER] = (p->domains - 1) / others;
    share[SPAN_DOMAIN] = (p->nodes - p->domains) / others;
    share[SPAN_NODE] = (p->world - p->nodes) / others;
}

static int no_link(const struct topology *t, const struct placement *p, enum topology_span span, struct pkb_error *err)
{
    static const char *const places[] = {"inside a node", "between the nodes of an NVLink domain", "between nodes"};
    return pkb_error_set(err, "topology %s has no link %s, which %d ranks on %d nodes need", t->name, places[span], p->world,
                         p->nodes);
}

static void add_hop(struct roofline *r, const struct topology_link *l, double bytes)
{
    int i = 0;
    while (i < r->n_hops && r->hops[i].link != l)
        i++;
    if (i == r->n_hops)
        r->hops[r->n_hops++] = (struct roofline_hop){.link = l};
    r->hops[i].bytes += bytes;
}

/* The share of the link bytes that no implementation can do without: a switch that adds needs each rank's data once instead of
 * twice (all-reduce, the extreme case), and an element may travel in one byte. */
static double least_share(const struct topology_link *l, const struct placement *p, int dtype)
{
    double share = l->in_network_reduction ? p->world / (2.0 * (p->world - 1)) : 1;
    size_t size = dtype_size(dtype);
    return share / (double)(size > 0 ? size : 1);
}

static int add_links(const struct topology *t, const struct roofline_work *w, const struct placement *p, struct roofline *r,
                     struct pkb_error *err)
{
    double share[SPAN_COUNT];
    if (p->world == 1 || w->link_bytes <= 0)
        return 0;
    split(p, share);
    for (int span = 0; span < SPAN_COUNT; span++) {
        if (share[span] <= 0)
            continue;
        const struct topology_link *l = fastest(t, (enum topology_span)span);
        if (!l)
            return no_link(t, p, (enum topology_span)span, err);
        add_hop(r, l, share[span] * w->link_bytes);
        double bytes = share[span] * w->link_bytes * least_share(l, p, w->dtype);
        r->floor = larger(r->floor, bytes / all_links(t, p, (enum topology_span)span));
    }
    for (int i = 0; i < r->n_hops; i++) {
        struct roofline_hop *h = &r->hops[i];
        h->seconds = h->bytes / (h->link->bandwidth_gb_s * 1e9) + h->link->latency_us * 1e-6;
        r->link = larger(r->link, h->seconds);
    }
    return 0;
}

/* ---- compute and memory -------------------------------------------------------------------------------------------- */

/* Peak of a dtype in operations per second; where the file has none, that of f32. */
static double peak_of(const struct topology *t, int dtype)
{
    static const enum topology_peak peaks[] = {
        [PKB_BF16] = PEAK_BF16, [PKB_F16] = PEAK_F16, [PKB_F32] = PEAK_F32, [PKB_F64] = PEAK_F64, [PKB_FP8_E4M3] = PEAK_FP8,
        [PKB_I32] = PEAK_F32,   [PKB_I64] = PEAK_F32, [PKB_U8] = PEAK_F32,  [PKB_BOOL] = PEAK_F32};
    bool known = dtype >= 0 && (size_t)dtype < sizeof(peaks) / sizeof(peaks[0]);
    double peak = t->device.peak_tflops[known ? peaks[dtype] : PEAK_F32];
    return (peak > 0 ? peak : t->device.peak_tflops[PEAK_F32]) * 1e12;
}

static double highest_peak(const struct topology *t)
{
    double highest = 0;
    for (int i = 0; i < PEAK_COUNT; i++)
        highest = larger(highest, t->device.peak_tflops[i]);
    return highest * 1e12;
}

static void add_device(const struct topology *t, const struct roofline_work *w, struct roofline *r)
{
    double bandwidth = t->device.memory_bandwidth_gb_s * 1e9;
    double uncached = larger(0, w->least_memory_bytes - t->device.l2_mib * (1 << 20));
    r->compute = w->flops / peak_of(t, w->dtype);
    r->memory = w->memory_bytes / bandwidth;
    r->floor = larger(r->floor, larger(w->flops / highest_peak(t), uncached / bandwidth));
}

static void choose_binding(struct roofline *r)
{
    r->bound = larger(r->compute, larger(r->memory, r->link));
    if (r->bound <= 0)
        r->binds = ROOFLINE_NOTHING;
    else if (r->bound == r->link)
        r->binds = ROOFLINE_LINK;
    else
        r->binds = r->bound == r->memory ? ROOFLINE_MEMORY : ROOFLINE_COMPUTE;
}

int roofline_compute(const struct topology *t, const struct roofline_work *w, int world, int nodes, struct roofline *r,
                     struct pkb_error *err)
{
    struct placement p = {0};
    memset(r, 0, sizeof(*r));
    if (place(t, world, nodes, &p, err) < 0 || add_links(t, w, &p, r, err) < 0)
        return -1;
    add_device(t, w, r);
    choose_binding(r);
    return 0;
}

/* ---- problems ------------------------------------------------------------------------------------------------------ */

static double bytes_of(int (*describe)(const struct problem_setting *s, struct problem_tensor *t),
                       const struct problem_setting *s)
{
    struct problem_tensor tensors[PROBLEM_MAX_TENSORS];
    double sum = 0;
    size_t bytes;
    int n = describe(s, tensors);
    for (int i = 0; i < n; i++)
        if (tensor_bytes(&tensors[i].form, &bytes, NULL) == 0)
            sum += (double)bytes;
    return sum;
}

void roofline_work_of(const struct problem_setting *s, struct roofline_work *w)
{
    struct problem_cost cost = {0};
    s->problem->cost(s, &cost);
    double tensors = bytes_of(s->problem->inputs, s) + bytes_of(s->problem->outputs, s);
    *w = (struct roofline_work){.dtype = s->dtype,
                                .flops = cost.flops,
                                .memory_bytes = cost.hbm_bytes,
                                .least_memory_bytes = tensors < cost.hbm_bytes ? tensors : cost.hbm_bytes,
                                .link_bytes = cost.link_bytes};
}

int roofline_for_setting(const struct topology *t, const struct problem_setting *s, int nodes, struct roofline *r,
                         struct pkb_error *err)
{
    struct problem_setting one = *s;
    double floor = 0;
    memset(r, 0, sizeof(*r));
    for (one.rank = 0; one.rank < s->world; one.rank++) {
        struct roofline_work w;
        struct roofline next;
        roofline_work_of(&one, &w);
        if (roofline_compute(t, &w, s->world, nodes, &next, err) < 0)
            return pkb_error_prefix(err, "%s", s->problem->name);
        floor = larger(floor, next.floor);
        next.rank = one.rank;
        if (one.rank == 0 || next.bound > r->bound)
            *r = next;
    }
    r->floor = floor;
    return 0;
}

/* ---- measured times ------------------------------------------------------------------------------------------------ */

double roofline_utilisation(const struct roofline *r, double measured)
{
    return measured > 0 && r->bound > 0 ? r->bound / measured : 0;
}

enum roofline_verdict roofline_judge(const struct topology *t, const struct roofline *r, double measured)
{
    if (!(measured > 0) || r->bound <= 0)
        return ROOFLINE_UNKNOWN;
    if (t->figures == FIGURES_DATASHEET && measured < r->floor * ROOFLINE_MARGIN - ROOFLINE_TIMER)
        return ROOFLINE_IMPOSSIBLE;
    return measured < r->bound ? ROOFLINE_ABOVE_MODEL : ROOFLINE_PLAUSIBLE;
}

json_t *roofline_encode(const struct roofline *r)
{
    json_t *links = json_array();
    for (int i = 0; links && i < r->n_hops; i++) {
        const struct roofline_hop *h = &r->hops[i];
        if (json_array_append_new(
                links, json_pack("{s:s, s:f, s:f}", "link", h->link->name, "bytes", h->bytes, "ns", h->seconds * 1e9)) < 0) {
            json_decref(links);
            links = NULL;
        }
    }
    return json_pack("{s:f, s:s, s:f, s:f, s:f, s:f, s:o}", "bound_ns", r->bound * 1e9, "binds", roofline_resource_name(r->binds),
                     "compute_ns", r->compute * 1e9, "memory_ns", r->memory * 1e9, "link_ns", r->link * 1e9, "floor_ns",
                     r->floor * 1e9, "links", links);
}
