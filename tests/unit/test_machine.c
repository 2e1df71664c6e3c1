/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery: captured trees of sysfs and topologies that hwloc exports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "topology/machine.h"
#include "topology/topology.h"
#include "util/file.h"

/* The machine of a captured tree. Returns what machine_read does. */
static int read_tree(const char *name, struct machine *m, struct pkb_error *err)
{
    char *root = pkb_format(err, "%s/%s", test_folder, name);
    assert_non_null(root);
    captured_unpack(name, root);
    int rc = machine_read(root, m, err);
    assert_int_equal(pkb_remove_tree(root, NULL), 0);
    free(root);
    return rc;
}

static void cpus_and_memory_are_counted(void **state)
{
    (void)state;
    struct machine m;
    struct pkb_error err;
    assert_int_equal(read_tree("cpu-only", &m, &err), 0);
    assert_string_equal(m.cpu_name, "Example CPU @ 2.00GHz");
    assert_int_equal(m.cpus, 8);
    assert_int_equal(m.cores, 4);
    assert_int_equal(m.packages, 2);
    assert_int_equal(m.numa_nodes, 2);
    assert_int_equal(m.memory_bytes, 2LL * 131072000 * 1024);
    assert_int_equal(m.cache_bytes, 2LL * 32768 * 1024);
    assert_int_equal(m.n_gpus, 0);
    assert_int_equal(m.n_ports, 1);
    assert_false(m.ports[0].active);
    assert_int_equal(m.driver_gpus, -1);
}

static void gpus_and_ports_are_found(void **state)
{
    (void)state;
    struct machine m;
    struct pkb_error err;
    assert_int_equal(read_tree("dgx-h100", &m, &err), 0);
    assert_int_equal(m.n_gpus, 8); /* neither the console nor the switch */
    assert_string_equal(m.gpus[0].address, "0000:1b:00.0");
    assert_string_equal(m.gpus[7].id, "10de:2330");
    assert_int_equal(m.gpus[0].numa_node, 0);
    assert_int_equal(m.gpus[7].numa_node, 1);
    assert_int_equal(m.n_ports, 11);
    assert_string_equal(m.ports[2].device, "mlx5_10"); /* sorted as text */
    assert_false(m.ports[2].active);
    assert_int_equal(m.ports[0].kind, PORT_INFINIBAND);
    assert_true(m.ports[0].gbit_s == 400);
    assert_int_equal(read_tree("h200-roce", &m, &err), 0);
    assert_int_equal(m.ports[7].kind, PORT_ETHERNET);
}

static void odd_values_are_not_believed(void **state)
{
    (void)state;
    struct machine m;
    struct pkb_error err;
    assert_int_equal(read_tree("odd-values", &m, &err), 0);
    assert_int_equal(m.cpus, 2);
    assert_int_equal(m.cores, 0);
    assert_int_equal(m.numa_nodes, 1);
    assert_int_equal(m.memory_bytes, 0);
    assert_int_equal(m.cache_bytes, 0);
    assert_int_equal(m.n_gpus, 0);
    assert_int_equal(m.n_ports, 0);
    assert_string_equal(m.cpu_name, "");
    assert_int_equal(read_tree("no-cpus", &m, &err), -1);
    assert_non_null(strstr(err.text, "lists no CPUs"));
    assert_int_equal(machine_read("/nonexistent", &m, &err), -1);
}

static void this_machine_can_be_read(void **state)
{
    (void)state;
    struct machine m;
    struct pkb_error err;
    assert_int_equal(machine_read(NULL, &m, &err), 0);
    assert_true(m.cpus >= 1 && m.numa_nodes >= 1);
    machine_read_driver(&m);
    assert_true(m.driver_gpus >= -1 && m.driver_gpus <= MACHINE_MAX_GPUS);
    json_t *v = machine_encode(&m);
    assert_non_null(v);
    assert_int_equal(json_integer_value(json_object_get(v, "cpus")), m.cpus);
    json_decref(v);
}

/* ---- topologies ----------------------------------------------------------------------------------------------------- */

/* What `pkb topo discover` prints. */
static char *print(const struct machine *m, const struct topology *t)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    machine_print(m, "# ", f);
    assert_int_equal(topology_print(t, f), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void discovered_topologies_are_valid(void **state)
{
    (void)state;
    static const struct {
        const char *tree;
        int gpus, nodes_per_domain, n_links;
        const char *network;
        double bandwidth;
        int rails;
        double memory_bandwidth;
    } rows[] = {
        {"dgx-h100", 8, 1, 2, "infiniband", 50, 8, 3350},
        {"h200-roce", 8, 1, 2, "roce", 50, 8, 4800},
        {"gb200-tray", 4, 18, 2, "infiniband", 50, 4, 8000},
        {"a100-alone", 1, 1, 1, NULL, 0, 0, 2039},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct machine m;
        struct topology t, again;
        struct pkb_error err = {""};
        assert_int_equal(read_tree(rows[i].tree, &m, &err), 0);
        if (machine_topology(&m, "found", NULL, &t, &err) < 0)
            fail_msg("%s: %s", rows[i].tree, err.text);
        assert_int_equal(t.gpus_per_node, rows[i].gpus);
        assert_int_equal(t.nodes_per_domain, rows[i].nodes_per_domain);
        assert_int_equal(t.n_links, rows[i].n_links);
        assert_true(t.device.memory_bandwidth_gb_s == rows[i].memory_bandwidth);
        if (rows[i].network) {
            assert_string_equal(t.links[1].name, rows[i].network);
            assert_true(t.links[1].bandwidth_gb_s == rows[i].bandwidth);
            assert_int_equal(t.links[1].rails, rows[i].rails);
        }
        char *text = print(&m, &t);
        if (topology_parse(text, strlen(text), &again, &err) < 0)
            fail_msg("%s: %s", rows[i].tree, err.text);
        char *text_again = print(&m, &again);
        assert_string_equal(text_again, text);
        free(text_again);
        free(text);
    }
}

static void what_cannot_be_described_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *tree, *expected;
    } rows[] = {
        {"cpu-only", "there are no GPUs"},
        {"mixed-gpus", "the GPUs differ: 0000:1b:00.0 is 10de:2330, 0000:43:00.0 is 10de:20b2"},
        {"unknown-gpu", "no topology lists the PCI id 10de:beef"},
        {"amd-gpu", "no topology lists the PCI id 1002:74a1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct machine m;
        struct topology t;
        struct pkb_error err = {""};
        assert_int_equal(read_tree(rows[i].tree, &m, &err), 0);
        assert_int_equal(machine_topology(&m, "found", NULL, &t, &err), -1);
        if (!strstr(err.text, rows[i].expected))
            fail_msg("%s: '%s' instead of '%s'", rows[i].tree, err.text, rows[i].expected);
    }
}

static void a_file_of_ones_own_makes_a_gpu_known(void **state)
{
    (void)state;
    static const char text[] = "schema: 1\nname: own\nfigures: estimate\ngpus_per_node: 2\ndevice:\n  name: New\n  kind: gpu\n"
                               "  memory_gb: 1\n  memory_bandwidth_gb_s: 1\n  l2_mib: 1\n  peak_tflops: {bf16: 1, f32: 1}\n"
                               "  pci_ids: [\"10de:beef\"]\nlinks: [{name: nv, span: node, bandwidth_gb_s: 1, latency_us: 1}]\n";
    struct machine m;
    struct topology t;
    struct pkb_error err = {""};
    char *own = pkb_format(&err, "%s/own", test_folder), *file = pkb_format(&err, "%s/own/own.yaml", test_folder);
    assert_int_equal(pkb_mkdirs(own, &err), 0);
    assert_int_equal(pkb_file_write(file, text, strlen(text), &err), 0);
    assert_int_equal(read_tree("unknown-gpu", &m, &err), 0);
    assert_int_equal(machine_topology(&m, "found", own, &t, &err), 0);
    assert_string_equal(t.device.name, "New");
    free(own);
    free(file);
}

/* ---- hwloc ---------------------------------------------------------------------------------------------------------- */

/* 2 packages of 2 cores with 2 threads each and a shared L3 of 8 MiB, 2 NUMA nodes; what a version without hwloc says otherwise. */
static void hwloc_topologies_are_read(void **state)
{
    (void)state;
    struct machine m = {.cpu_name = "before", .cpus = 1};
    struct pkb_error err = {""};
    char *from = captured_folder(), *xml = pkb_format(&err, "%s/two-packages.xml", from);
    if (machine_read_hwloc(xml, &m, &err) < 0) {
        assert_non_null(strstr(err.text, "built without hwloc"));
    } else {
        assert_int_equal(m.cpus, 8);
        assert_int_equal(m.cores, 4);
        assert_int_equal(m.packages, 2);
        assert_int_equal(m.numa_nodes, 2);
        assert_int_equal(m.cache_bytes, 2 * 8 << 20);
        assert_int_equal(m.memory_bytes, 2LL << 30);
        assert_string_equal(m.cpu_name, "before"); /* the capture does not name the CPU */
        assert_int_equal(machine_read_hwloc("/nonexistent.xml", &m, &err), -1);
        assert_int_equal(m.cpus, 8);
    }
    free(xml);
    free(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpus_and_memory_are_counted),          cmocka_unit_test(gpus_and_ports_are_found),
        cmocka_unit_test(odd_values_are_not_believed),          cmocka_unit_test(this_machine_can_be_read),
        cmocka_unit_test(discovered_topologies_are_valid),      cmocka_unit_test(what_cannot_be_described_is_an_error),
        cmocka_unit_test(a_file_of_ones_own_makes_a_gpu_known), cmocka_unit_test(hwloc_topologies_are_read),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
