/* SPDX-License-Identifier: Apache-2.0 */
/* Topology files: what is read, what is refused and with which words, and that the shipped ones are as they should be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "topology/topology.h"
#include "topology/tree.h"
#include "util/file.h"
#include "util/paths.h"

#define HEAD "schema: 1\nname: t\nfigures: datasheet\ngpus_per_node: 2\n"
#define DEVICE                                                                                                                   \
    "device:\n  name: D\n  kind: gpu\n  memory_gb: 80\n  memory_bandwidth_gb_s: 3350\n  l2_mib: 50\n"                            \
    "  peak_tflops: {bf16: 989.4, f32: 66.9}\n"
#define LINKS "links:\n  - {name: nv, span: node, bandwidth_gb_s: 450, latency_us: 1}\n"
#define RAILS "links:\n  - {name: ib, span: cluster, bandwidth_gb_s: 50, latency_us: 2, rails: 2, rail_gbit_s: 400}\n"

static int parse(const char *text, struct topology *t, struct pkb_error *err)
{
    err->text[0] = '\0';
    return topology_parse(text, strlen(text), t, err);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct topology t;
    struct pkb_error err;
    assert_int_equal(
        parse("schema: 1\nname: t\ndescription: \"a: b\"\nfigures: estimate\ngpus_per_node: 4\nnodes_per_domain: 18\n"
              "device:\n  name: 'a # b'\n  kind: cpu\n  multiprocessors: 7\n  memory_gb: 1e2\n"
              "  memory_bandwidth_gb_s: 0.5\n  l2_mib: 2.5\n  peak_tflops:\n    bf16: 1\n    f32: 2 # two\n"
              "  pci_ids: [\"10de:2330\", \"10de:beef\"]\nlinks:\n  - name: nv\n    span: domain\n    bandwidth_gb_s: 9\n"
              "    latency_us: .5\n    in_network_reduction: true\n  - name: ib\n    span: cluster\n"
              "    bandwidth_gb_s: 50\n    latency_us: 2\n    rails: 4\n    rail_gbit_s: 400\n"
              "estimates:\n  - links.ib.latency_us\n  - device.peak_tflops.bf16\n  - device.l2_mib\n",
              &t, &err),
        0);
    assert_string_equal(t.description, "a: b");
    assert_int_equal(t.figures, FIGURES_ESTIMATE);
    assert_int_equal(t.gpus_per_node, 4);
    assert_int_equal(t.nodes_per_domain, 18);
    assert_string_equal(t.device.name, "a # b");
    assert_int_equal(t.device.kind, DEVICE_CPU);
    assert_int_equal(t.device.multiprocessors, 7);
    assert_true(t.device.memory_gb == 100 && t.device.memory_bandwidth_gb_s == 0.5 && t.device.l2_mib == 2.5);
    assert_true(t.device.peak_tflops[PEAK_BF16] == 1 && t.device.peak_tflops[PEAK_F32] == 2 &&
                t.device.peak_tflops[PEAK_FP8] == 0);
    assert_int_equal(t.device.n_pci_ids, 2);
    assert_string_equal(t.device.pci_ids[1], "10de:beef");
    assert_int_equal(t.n_links, 2);
    assert_true(t.links[0].in_network_reduction && !t.links[1].in_network_reduction);
    assert_int_equal(t.links[1].span, SPAN_CLUSTER);
    assert_int_equal(t.links[1].rails, 4);
    assert_true(t.links[0].latency_us == 0.5 && t.links[1].rail_gbit_s == 400);
    assert_int_equal(t.n_estimates, 3);
}

struct row {
    const char *text;
    const char *expected; /* part of the error; NULL: it is fine */
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct topology t;
        struct pkb_error err;
        int rc = parse(rows[i].text, &t, &err);
        if (rows[i].expected ? rc == 0 || !strstr(err.text, rows[i].expected) : rc != 0)
            fail_msg("row %zu: returned %d, '%s' instead of '%s' for\n%s", i, rc, err.text,
                     rows[i].expected ? rows[i].expected : "success", rows[i].text);
    }
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof(rows[0]))

static void yaml_is_strict(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {HEAD DEVICE LINKS, NULL},
        {"---\n" HEAD DEVICE LINKS "...\n", NULL},
        {"# comment\n\n" HEAD DEVICE LINKS, NULL},
        {"{\"schema\": 1, \"name\": \"t\", \"figures\": \"datasheet\", \"gpus_per_node\": 1, \"device\": {\"name\": \"D\", "
         "\"kind\": "
         "\"gpu\", \"memory_gb\": 8, \"memory_bandwidth_gb_s\": 1, \"l2_mib\": 1, \"peak_tflops\": {\"bf16\": 1, \"f32\": 1}}, "
         "\"links\": []}",
         NULL},
        {HEAD DEVICE "links: []\n", "no link connects the 2 GPUs"},
        {"", "the file is empty"},
        {"# only a comment\n", "the file is empty"},
        {"schema", "expected a map, found 'schema'"},
        {"- schema: 1\n", "expected a map, found a list"},
        {HEAD DEVICE LINKS "---\nschema: 1\n", "line 14: there must be one document only"},
        {"schema: 1\nname: &a t\n", "line 2: anchors are not allowed"},
        {"schema: 1\nname: *a\n", "line 2: aliases are not allowed"},
        {"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "line 1: anchors are not allowed"},
        {"*a : 1\n", "aliases are not allowed"},
        {"schema: !!int 1\n", "line 1: tags are not allowed"},
        {"? [a, b]\n: 1\n", "line 1: keys must be words"},
        {"schema: 1\nschema: 1\n", "line 2: the key 'schema' is there twice"},
        {"schema: [1\n", "line"},
        {"schema: 1\n\tname: t\n", "line 2"},
        {"name: \"\\0\"\n", "line 1: the text holds a zero byte"},
        {"name: \xff\xfe\xfa\n", "byte"},
        {"name: \"\x01\"\n", "byte"},
        {"a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "nested too deeply"},
        {"a: [[[[[[[[[[[[[[1]]]]]]]]]]]]]]\n", "nested too deeply"},
    };
    CHECK(rows);
}

static void keys_and_values_are_checked(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {HEAD "nodes_per_domain: 1\n" DEVICE LINKS, NULL},
        {HEAD "description: 12\n" DEVICE LINKS, NULL},
        {HEAD DEVICE "  pci_ids: []\n" LINKS, NULL},
        {HEAD DEVICE LINKS "    # comment\nestimates: [links.nv.latency_us]\n", NULL},
        {HEAD "node_per_domain: 1\n" DEVICE LINKS, "line 5: unknown key 'node_per_domain'; did you mean 'nodes_per_domain'?"},
        {HEAD "colour: red\n" DEVICE LINKS, "line 5: unknown key 'colour'; known are schema, name"},
        {HEAD "device:\n  nmae: D\n", "device: line 6: unknown key 'nmae'; did you mean 'name'?"},
        {HEAD "device: {peak_tflops: {bf61: 1}}\n", "device: peak_tflops: line 5: unknown key 'bf61'; did you mean 'bf16'?"},
        {HEAD DEVICE "links:\n  - {name: nv, span: node, bandwith_gb_s: 450}\n",
         "links: item 1: line 13: unknown key 'bandwith_gb_s'; did you mean 'bandwidth_gb_s'?"},
        {"schema: 2\nwhatever: 1\n", "schema: line 1: 2 is not supported; this version reads 1"},
        {"schema: one\n", "schema: line 1: expected a number, found 'one'"},
        {"schema: \"1\"\n", "schema: line 1: expected a number, found a text"},
        {"name: t\n", "the key 'schema' is missing"},
        {"schema: 1\nname: t\nfigures: datasheet\n", "the key 'gpus_per_node' is missing"},
        {HEAD LINKS, "the key 'device' is missing"},
        {HEAD DEVICE, "the key 'links' is missing"},
        {HEAD "device:\n", "device: line 5: expected a map"},
        {HEAD "device: [1]\n", "device: line 5: expected a map, found a list"},
        {"schema: 1\nname: ../t\n", "name: line 2: '../t' is no name"},
        {"schema: 1\nname: -t\n", "is no name"},
        {"schema: 1\nname: \"\"\n", "name: line 2: the text is empty"},
        {"schema: 1\nname: [t]\n", "name: line 2: expected a text, found a list"},
        {"schema: 1\ndescription: \"a\\tb\"\n", "control characters"},
        {"schema: 1\nfigures: datasheets\n", "figures: line 2: unknown word 'datasheets'; did you mean 'datasheet'?"},
        {"schema: 1\nfigures: guess\n", "unknown word 'guess'; it is one of datasheet, estimate, measured"},
        {"schema: 1\ngpus_per_node: 0\n", "gpus_per_node: line 2: 0 is out of range: 1 to 4096"},
        {"schema: 1\ngpus_per_node: 1.5\n", "gpus_per_node: line 2: expected a whole number, found '1.5'"},
        {"schema: 1\ngpus_per_node: 0x10\n", "expected a number, found '0x10'"},
        {"schema: 1\ngpus_per_node: 1e999\n", "expected a number, found '1e999'"},
        {"schema: 1\ngpus_per_node: nan\n", "expected a number, found 'nan'"},
        {"schema: 1\ngpus_per_node: 8 GPUs\n", "expected a number, found '8 GPUs'"},
        {"schema: 1\ngpus_per_node: -\n", "line 2"},
        {"schema: 1\ngpus_per_node: +\n", "expected a number, found '+'"},
        {HEAD "device: {memory_gb: -80}\n", "device: memory_gb: line 5: -80 is out of range"},
        {HEAD "device: {l2_mib: 0}\n", "device: l2_mib: line 5: 0 is out of range"},
        {HEAD "device: {kind: tpu}\n", "device: kind: line 5: unknown word 'tpu'"},
        {HEAD DEVICE "links: {}\n", "links: line 12: expected a list, found a map"},
        {HEAD DEVICE "links: [nv]\n", "links: item 1: line 12: expected a map, found 'nv'"},
        {HEAD DEVICE "links: [{in_network_reduction: yes}]\n", "expected true or false, found 'yes'"},
        {HEAD DEVICE "links: [{}, {}, {}, {}, {}, {}, {}, {}, {}]\n", "more than 8 items"},
        {HEAD DEVICE "  pci_ids: 10de:2330\n" LINKS, "device: pci_ids: line 12: expected a list, found '10de:2330'"},
    };
    CHECK(rows);
}

static void figures_must_fit_together(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {HEAD DEVICE RAILS, NULL},
        {HEAD "nodes_per_domain: 2\n" DEVICE "links:\n  - {name: nv, span: domain, bandwidth_gb_s: 450, latency_us: 1}\n", NULL},
        {"schema: 1\nname: t\nfigures: datasheet\ngpus_per_node: 1\n" DEVICE "links: []\n", NULL},
        {"schema: 1\nname: t\nfigures: datasheet\ngpus_per_node: 4\n" DEVICE RAILS,
         "4 GPUs at 50 GB/s need more than its 2 rails"},
        {HEAD DEVICE "links: [{name: nv, span: node, bandwidth_gb_s: 1, latency_us: 1, rails: 2, rail_gbit_s: 400}]\n",
         "link nv: rails are network ports; the span must be cluster"},
        {HEAD DEVICE "links: [{name: ib, span: cluster, bandwidth_gb_s: 1, latency_us: 1, rails: 2}]\n",
         "link ib: rails and rail_gbit_s belong together"},
        {HEAD DEVICE "links: [{name: nv, span: domain, bandwidth_gb_s: 1, latency_us: 1}]\n", "nodes_per_domain is 1"},
        {HEAD "nodes_per_domain: 2\n" DEVICE LINKS, "nodes_per_domain is 2, but no link spans a domain"},
        {HEAD DEVICE LINKS "  - {name: nv, span: cluster, bandwidth_gb_s: 1, latency_us: 1}\n", "two links are named nv"},
        {HEAD DEVICE "  pci_ids: [H100]\n" LINKS, "'H100' is not vendor:device"},
        {HEAD DEVICE "  pci_ids: [\"10DE:2330\"]\n" LINKS, "lower-case hexadecimal"},
        {HEAD "device: {name: D, kind: gpu, memory_gb: 1, memory_bandwidth_gb_s: 1, l2_mib: 1, peak_tflops: {f32: 1}}\n" LINKS,
         "needs f32 and bf16"},
        {HEAD DEVICE LINKS "estimates: [links.ib.latency_us]\n", "'links.ib.latency_us' names no figure"},
        {HEAD DEVICE LINKS "estimates: [latency]\n", "'latency' names no figure"},
    };
    CHECK(rows);
}

/* A file of a given size from a head and a repeated part. */
static char *repeat(const char *head, const char *part, size_t n)
{
    char *text = malloc(strlen(head) + strlen(part) * n + 1), *p = text;
    assert_non_null(text);
    p = stpcpy(p, head);
    for (size_t i = 0; i < n; i++)
        p = stpcpy(p, part);
    return text;
}

static void hostile_files_are_cheap(void **state)
{
    (void)state;
    static const struct {
        const char *head, *part;
        size_t n;
        const char *expected;
    } rows[] = {
        {"a: [", "[", 60000, "nested too deeply"},
        {"a: ", "{a: ", 16000, "nested too deeply"},
        {"a: [", "1,", 30000, "too many entries"},
        {"name: ", "x", 60000, "the text is too long"},
        {"", "x", 70000, "larger than 65536 bytes"},
        {"a: |\n ", "x", 60000, "the text is too long"},
        {"schema: 1\n", "- ", 10000, "line"},
        {"schema: 1\nname: ", "x", 100, "name: line 2: the text is longer than 95 bytes"},
        {"", "? ", 30000, "line"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = repeat(rows[i].head, rows[i].part, rows[i].n);
        struct row row = {text, rows[i].expected};
        check_rows(&row, 1);
        free(text);
    }
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

static char *print(const struct topology *t)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(topology_print(t, f), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void assert_round_trip(const struct topology *t)
{
    struct topology again, decoded;
    struct pkb_error err = {""};
    char *text = print(t);
    if (parse(text, &again, &err) < 0)
        fail_msg("%s: %s", t->name, err.text);
    assert_memory_equal(&again, t, sizeof(*t));
    json_t *value = topology_encode(t);
    assert_non_null(value);
    if (topology_decode(value, &decoded, &err) < 0)
        fail_msg("%s as JSON: %s", t->name, err.text);
    assert_memory_equal(&decoded, t, sizeof(*t));
    json_decref(value);
    free(text);
}

static void shipped_files_are_valid_and_survive_printing(void **state)
{
    (void)state;
    static const char *const expected[] = {"a100-sxm-8", "b200-8",     "gb200-nvl72", "h100-ib-ndr",
                                           "h100-roce",  "h100-sxm-8", "h200-sxm-8",  "host"};
    struct topology_names list;
    struct topology t;
    struct pkb_error err;
    assert_int_equal(topology_list(NULL, &list, &err), 0);
    assert_int_equal(list.n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < list.n; i++) {
        assert_string_equal(list.names[i], expected[i]);
        if (strcmp(list.names[i], TOPOLOGY_HOST) == 0)
            continue;
        if (topology_find(list.names[i], NULL, &t, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(t.figures, FIGURES_DATASHEET);
        assert_true(t.device.multiprocessors > 0 && t.device.peak_tflops[PEAK_TF32] > 0 && t.device.peak_tflops[PEAK_F64] > 0);
        assert_round_trip(&t);
    }
    topology_names_clear(&list);
}

/* ---- copies ---------------------------------------------------------------------------------------------------------- */

static void copies_hold_what_they_say(void **state)
{
    (void)state;
    static const struct {
        const char *path[3]; /* of the member that is changed */
        const char *value;   /* JSON; NULL: removed */
        const char *want;
    } rows[] = {
        {{"name"}, "\"other\"", "name: 'other', but the content is named 'h100-sxm-8'"},
        {{"name"}, NULL, "name: missing"},
        {{"name"}, "7", "name: expected"},
        {{"digest"}, "\"0000\"", "digest: the content was changed"},
        {{"digest"}, NULL, "digest: missing"},
        {{"content"}, NULL, "content: missing"},
        {{"content"}, "\"text\"", "content: expected"},
        {{"content", "schema"}, "2", "content: schema"},
        {{"content", "colour"}, "1", "content: line 1: unknown key 'colour'"},
        {{"content", "device", "memory_gb"}, "81.0", "digest: the content was changed"},
        {{"content", "gpus_per_node"}, "0", "content: gpus_per_node"},
    };
    struct topology t, again;
    struct pkb_error err;
    assert_int_equal(topology_find("h100-sxm-8", NULL, &t, &err), 0);
    json_t *copy = topology_copy_encode(&t, &err);
    assert_non_null(copy);
    if (topology_copy_decode(copy, &again, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(&again, &t, sizeof(t));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *changed = json_deep_copy(copy), *at = changed;
        size_t last = 0;
        for (; last < 2 && rows[i].path[last + 1]; last++)
            at = json_object_get(at, rows[i].path[last]);
        if (rows[i].value)
            json_object_set_new(at, rows[i].path[last], json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(at, rows[i].path[last]);
        assert_int_equal(topology_copy_decode(changed, &again, &err), -1);
        if (!strstr(err.text, rows[i].want))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].want);
        json_decref(changed);
    }
    json_decref(copy);
}

static void this_machine_is_measured_once(void **state)
{
    (void)state;
    struct topology a, b;
    struct pkb_error err;
    assert_int_equal(topology_find(TOPOLOGY_HOST, NULL, &a, &err), 0);
    assert_int_equal(topology_find(TOPOLOGY_HOST, NULL, &b, &err), 0);
    assert_memory_equal(&a, &b, sizeof(a));
    assert_int_equal(a.figures, FIGURES_MEASURED);
    assert_true(a.gpus_per_node >= 1 && a.n_links == 1);
    /* Slower than a machine of 1990 or faster than any core: the measurement is wrong. */
    assert_true(a.device.memory_bandwidth_gb_s > 0.05 && a.device.memory_bandwidth_gb_s < 2000);
    assert_true(a.device.peak_tflops[PEAK_F32] > 1e-5 && a.device.peak_tflops[PEAK_F32] < 10);
    assert_true(a.links[0].bandwidth_gb_s > 0.01 && a.links[0].latency_us > 0.001);
    assert_round_trip(&a);
}

static void write_to(const char *folder, const char *name, const char *text)
{
    struct pkb_error err;
    char *path = pkb_format(&err, "%s/%s", folder, name);
    assert_non_null(path);
    assert_int_equal(pkb_file_write(path, text, strlen(text), &err), 0);
    free(path);
}

static void assert_not_found(const char *name, const char *folder, const char *expected)
{
    struct topology t;
    struct pkb_error err = {""};
    int rc = topology_find(name, folder, &t, &err);
    if (rc == 0 || !strstr(err.text, expected))
        fail_msg("%s: returned %d, '%s' instead of '%s'", name, rc, err.text, expected);
}

static void a_folder_adds_topologies(void **state)
{
    (void)state;
    char folder[] = "/tmp/pkb-test-topology-XXXXXX", path[96];
    struct topology t;
    struct topology_names list;
    struct pkb_error err;
    assert_non_null(mkdtemp(folder));
    write_to(folder, "t.yaml", HEAD DEVICE LINKS);
    write_to(folder, "other.yaml", HEAD DEVICE LINKS);
    write_to(folder, "notes.txt", "not a topology");
    assert_int_equal(topology_list(folder, &list, &err), 0);
    assert_int_equal(list.n, 10);
    topology_names_clear(&list);
    assert_int_equal(topology_find("t", folder, &t, &err), 0);
    assert_string_equal(t.name, "t");
    (void)snprintf(path, sizeof(path), "%s/t.yaml", folder);
    assert_int_equal(topology_find(path, NULL, &t, &err), 0);
    assert_not_found("t", NULL, "there is no topology 't'");
    assert_not_found("other", folder, "describes 't': both names must be the same");
    assert_not_found("h100-smx-8", folder, "did you mean 'h100-sxm-8'?");
    assert_not_found("zzzzzzzzzzzzzzzz", NULL, "there are a100-sxm-8, b200-8");
    assert_not_found("/nonexistent/x.yaml", NULL, "/nonexistent/x.yaml");
    assert_not_found("notes", "/nonexistent", "/nonexistent");
    assert_int_equal(topology_list("/nonexistent", &list, &err), -1);
    assert_int_equal(list.n, 0);
    assert_int_equal(pkb_remove_tree(folder, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),       cmocka_unit_test(yaml_is_strict),
        cmocka_unit_test(keys_and_values_are_checked),   cmocka_unit_test(figures_must_fit_together),
        cmocka_unit_test(hostile_files_are_cheap),       cmocka_unit_test(shipped_files_are_valid_and_survive_printing),
        cmocka_unit_test(this_machine_is_measured_once), cmocka_unit_test(a_folder_adds_topologies),
        cmocka_unit_test(copies_hold_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
