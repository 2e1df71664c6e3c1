/* SPDX-License-Identifier: Apache-2.0 */
/* What hwloc says: it knows CPUs whose sysfs is incomplete, and reads captured topologies. */
#include <errno.h>
#include <hwloc.h>
#include <string.h>

#include "topology/machine.h"

static int load(hwloc_topology_t t, const char *xml, struct pkb_error *err)
{
    if (xml && hwloc_topology_set_xml(t, xml) < 0)
        return pkb_error_errno(err, "hwloc cannot read %s", xml);
    if (hwloc_topology_load(t) < 0)
        return pkb_error_errno(err, "hwloc");
    return 0;
}

/* All caches of the last level that there is. */
static int64_t last_cache(hwloc_topology_t t)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        int64_t sum = 0;
        for (hwloc_obj_t o = hwloc_get_next_obj_by_type(t, levels[i], NULL); o; o = hwloc_get_next_obj_by_type(t, levels[i], o))
            if (o->attr->cache.size < (1ULL << 40))
                sum += (int64_t)o->attr->cache.size;
        if (sum > 0)
            return sum;
    }
    return 0;
}

static void take(int *member, hwloc_topology_t t, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(t, type);
    if (n > 0)
        *member = n;
}

static void fill(hwloc_topology_t t, struct machine *m)
{
    hwloc_obj_t root = hwloc_get_root_obj(t);
    int64_t cache = last_cache(t);
    take(&m->cpus, t, HWLOC_OBJ_PU);
    take(&m->cores, t, HWLOC_OBJ_CORE);
    take(&m->packages, t, HWLOC_OBJ_PACKAGE);
    take(&m->numa_nodes, t, HWLOC_OBJ_NUMANODE);
    if (cache > 0)
        m->cache_bytes = cache;
    if (root->total_memory > 0 && root->total_memory < (1ULL << 50))
        m->memory_bytes = (int64_t)root->total_memory;
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    const char *name = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (name)
        (void)snprintf(m->cpu_name, sizeof(m->cpu_name), "%s", name);
}

int machine_read_hwloc(const char *xml, struct machine *m, struct pkb_error *err)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) < 0)
        return pkb_error_errno(err, "hwloc");
    int rc = load(t, xml, err);
    if (rc == 0)
        fill(t, m);
    hwloc_topology_destroy(t);
    return rc;
}
