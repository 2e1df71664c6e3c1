/* SPDX-License-Identifier: Apache-2.0 */
/* Rooflines against values computed by hand from the figures of the shipped topologies. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "topology/roofline.h"

#define MIB 1048576.0

static void assert_near(const char *what, double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * fabs(expected))
        fail_msg("%s: %.12g instead of %.12g", what, value, expected);
}

static void find(const char *name, struct topology *t)
{
    struct pkb_error err;
    if (topology_find(name, NULL, t, &err) < 0)
        fail_msg("%s", err.text);
}

static int compute(const char *topology, int problem, int dtype, int world, int nodes, struct roofline *r, struct pkb_error *err)
{
    static struct topology t; /* the roofline points into it */
    struct problem_setting s;
    find(topology, &t);
    problem_setting_init(&s, problem_by_id(problem), SHAPE_PAPER, dtype, 0, world);
    return roofline_for_setting(&t, &s, nodes, r, err);
}

/* ---- one node ------------------------------------------------------------------------------------------------------ */

static void an_all_reduce_is_bound_by_nvlink(void **state)
{
    (void)state;
    struct roofline r;
    struct pkb_error err;
    /* 2 MiB per rank; 2 * 7/8 of it are sent, 4 MiB read and written. */
    assert_int_equal(compute("h100-sxm-8", 1, PKB_BF16, 8, 0, &r, &err), 0);
    assert_near("compute", r.compute, 7.0 / 8 * MIB / 989.4e12);
    assert_near("memory", r.memory, 4 * MIB / 3350e9);
    assert_near("link", r.link, 3.5 * MIB / 450e9 + 1e-6);
    assert_near("bound", r.bound, 9.155591111111111e-6);
    assert_int_equal(r.binds, ROOFLINE_LINK);
    assert_int_equal(r.n_hops, 1);
    assert_string_equal(r.hops[0].link->name, "nvlink4");
    assert_near("bytes", r.hops[0].bytes, 3.5 * MIB);
    /* Added in the switch every rank sends its 2 MiB once, and in one byte per element 1 MiB; the rest fits the cache. */
    assert_near("floor", r.floor, MIB / 450e9);
}

static void other_machines_and_types(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int problem, dtype, world;
        double bound;
        enum roofline_resource binds;
    } rows[] = {
        /* a copy of 4 MiB (bf16) or 8 MiB (f32) in memory */
        {"h100-sxm-8", 1, PKB_BF16, 1, 4 * MIB / 3350e9, ROOFLINE_MEMORY},
        {"h100-sxm-8", 1, PKB_F32, 1, 8 * MIB / 3350e9, ROOFLINE_MEMORY},
        {"h200-sxm-8", 1, PKB_BF16, 1, 4 * MIB / 4800e9, ROOFLINE_MEMORY},
        {"a100-sxm-8", 1, PKB_BF16, 8, 3.5 * MIB / 300e9 + 1.5e-6, ROOFLINE_LINK},
        {"b200-8", 1, PKB_BF16, 2, 2 * MIB / 900e9 + 1e-6, ROOFLINE_LINK},
        /* 1 GiFlop and 8 MiB: 1024 x 1024 x 512 */
        {"h100-sxm-8", 13, PKB_BF16, 8, 3.5 * MIB / 450e9 + 1e-6, ROOFLINE_LINK},
        {"h100-sxm-8", 13, PKB_BF16, 1, 4 * MIB / 3350e9, ROOFLINE_MEMORY},
        {"h100-sxm-8", 13, PKB_F32, 1, 1024 * MIB / 66.9e12, ROOFLINE_COMPUTE},
        {"a100-sxm-8", 13, PKB_F64, 1, 1024 * MIB / 19.5e12, ROOFLINE_COMPUTE},
        /* the source sends 7 other ranks their matrices */
        {"h100-sxm-8", 5, PKB_BF16, 8, 7 * 2 * MIB / 450e9 + 1e-6, ROOFLINE_LINK},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roofline r;
        struct pkb_error err;
        char what[64];
        (void)snprintf(what, sizeof(what), "row %zu", i);
        if (compute(rows[i].topology, rows[i].problem, rows[i].dtype, rows[i].world, 0, &r, &err) < 0)
            fail_msg("%s: %s", what, err.text);
        assert_near(what, r.bound, rows[i].bound);
        assert_int_equal(r.binds, rows[i].binds);
    }
}

/* ---- several nodes ------------------------------------------------------------------------------------------------- */

static void nodes_are_connected_by_rails(void **state)
{
    (void)state;
    static const struct {
        int world, nodes;
        double node_bytes, cluster_bytes; /* per rank */
        const char *binds;
    } rows[] = {
        {8, 0, 3.5 * MIB, 0, "nvlink4"},
        /* 2 * 15/16 * 2 MiB = 3.75 MiB: one of the 15 others' worth crosses, 14 stay */
        {16, 0, 3.5 * MIB, 0.25 * MIB, "nvlink4"},
        {16, 2, 3.5 * MIB, 0.25 * MIB, "nvlink4"},
        {64, 0, 3.5 * MIB, 0.4375 * MIB, "infiniband-ndr"},
        {2, 2, 0, 2 * MIB, "infiniband-ndr"},
        {8, 8, 0, 3.5 * MIB, "infiniband-ndr"},
        {4, 2, 2 * MIB, 1 * MIB, "infiniband-ndr"},
        /* the last node is not full: 2 nodes, 9 others in all */
        {10, 0, 2 * 9.0 / 10 * 2 * MIB * 8 / 9, 2 * 9.0 / 10 * 2 * MIB * 1 / 9, "infiniband-ndr"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roofline r;
        struct pkb_error err;
        double node = rows[i].node_bytes > 0 ? rows[i].node_bytes / 450e9 + 1e-6 : 0;
        double cluster = rows[i].cluster_bytes > 0 ? rows[i].cluster_bytes / 50e9 + 2e-6 : 0;
        assert_int_equal(compute("h100-ib-ndr", 1, PKB_BF16, rows[i].world, rows[i].nodes, &r, &err), 0);
        assert_int_equal(r.n_hops, (node > 0) + (cluster > 0));
        assert_near("link", r.link, node > cluster ? node : cluster);
        const struct roofline_hop *slow = &r.hops[0];
        for (int h = 1; h < r.n_hops; h++)
            slow = r.hops[h].seconds > slow->seconds ? &r.hops[h] : slow;
        if (strcmp(rows[i].binds, slow->link->name) != 0 && fabs(node - cluster) > 1e-9)
            fail_msg("row %zu: %s instead of %s (%g, %g)", i, slow->link->name, rows[i].binds, node, cluster);
    }
}

static void an_nvlink_domain_spans_nodes(void **state)
{
    (void)state;
    struct roofline r;
    struct pkb_error err;
    /* 72 ranks on 18 nodes: everything goes over NVLink */
    assert_int_equal(compute("gb200-nvl72", 1, PKB_BF16, 72, 0, &r, &err), 0);
    assert_int_equal(r.n_hops, 1);
    assert_string_equal(r.hops[0].link->name, "nvlink5");
    assert_near("link", r.link, 2 * 71.0 / 72 * 2 * MIB / 900e9 + 1e-6);
    /* two racks: one of the 143 others' worth crosses */
    assert_int_equal(compute("gb200-nvl72", 1, PKB_BF16, 144, 0, &r, &err), 0);
    assert_int_equal(r.n_hops, 2);
    assert_near("nvlink", r.hops[0].bytes, 2 * 143.0 / 144 * 2 * MIB * 142 / 143);
    assert_near("infiniband", r.hops[1].bytes, 2 * 143.0 / 144 * 2 * MIB / 143);
}

static void a_single_rank_of_a_node_may_use_all_its_rails(void **state)
{
    (void)state;
    struct roofline r;
    struct pkb_error err;
    assert_int_equal(compute("h100-ib-ndr", 1, PKB_BF16, 8, 8, &r, &err), 0);
    assert_near("bound", r.bound, 3.5 * MIB / 50e9 + 2e-6);
    assert_near("floor", r.floor, 1.75 * MIB / 400e9);
}

static void what_cannot_be_connected_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        int world, nodes;
        const char *expected;
    } rows[] = {
        {"h100-sxm-8", 16, 0, "01_allreduce: topology h100-sxm-8 has no link between nodes, which 16 ranks on 2 nodes need"},
        {"h100-sxm-8", 2, 2, "has no link between nodes"},
        {"h100-ib-ndr", 4, 5, "4 ranks cannot be on 5 nodes"},
        {"h100-ib-ndr", 4, -1, "4 ranks cannot be on -1 nodes"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roofline r;
        struct pkb_error err = {""};
        assert_int_equal(compute(rows[i].topology, 1, PKB_BF16, rows[i].world, rows[i].nodes, &r, &err), -1);
        if (!strstr(err.text, rows[i].expected))
            fail_msg("row %zu: '%s' instead of '%s'", i, err.text, rows[i].expected);
    }
    struct topology t;
    struct roofline r;
    struct pkb_error err = {""};
    const struct roofline_work nothing = {.dtype = PKB_BF16};
    find("h100-sxm-8", &t);
    assert_int_equal(roofline_compute(&t, &nothing, 0, 0, &r, &err), -1);
    assert_int_equal(roofline_compute(&t, &nothing, 8, 0, &r, &err), 0);
    assert_int_equal(r.binds, ROOFLINE_NOTHING);
    assert_int_equal(roofline_judge(&t, &r, 1e-6), ROOFLINE_UNKNOWN);
}

/* ---- floors and verdicts ------------------------------------------------------------------------------------------- */

static void floors_hold_for_every_implementation(void **state)
{
    (void)state;
    static const struct {
        const char *topology;
        struct roofline_work work;
        int world;
        double floor;
    } rows[] = {
        /* what fits the cache need not come from memory */
        {"h100-sxm-8", {PKB_BF16, 0, 90 * MIB, 50 * MIB, 0}, 1, 0},
        {"h100-sxm-8", {PKB_BF16, 0, 90 * MIB, 90 * MIB, 0}, 1, 40 * MIB / 3350e9},
        /* the fastest units may be used: fp8 here, fp4 there */
        {"h100-sxm-8", {PKB_F64, 1e12, 0, 0, 0}, 1, 1e12 / 1979e12},
        {"b200-8", {PKB_F64, 1e12, 0, 0, 0}, 1, 1e12 / 9000e12},
        {"a100-sxm-8", {PKB_F64, 1e12, 0, 0, 0}, 1, 1e12 / 624e12},
        /* one byte per element; without reductions in the switch nothing else */
        {"a100-sxm-8", {PKB_F32, 0, 0, 0, 1e9}, 8, 1e9 / 4 / 300e9},
        {"h100-sxm-8", {PKB_F32, 0, 0, 0, 1e9}, 8, 1e9 / 4 * 8 / 14 / 450e9},
        {"h100-sxm-8", {PKB_FP8_E4M3, 0, 0, 0, 1e9}, 2, 1e9 / 450e9},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct topology t;
        struct roofline r;
        struct pkb_error err;
        char what[64];
        (void)snprintf(what, sizeof(what), "floor of row %zu", i);
        find(rows[i].topology, &t);
        assert_int_equal(roofline_compute(&t, &rows[i].work, rows[i].world, 0, &r, &err), 0);
        assert_near(what, r.floor, rows[i].floor);
        assert_true(r.floor <= r.bound);
    }
}

static void no_problem_has_a_floor_above_its_bound(void **state)
{
    (void)state;
    static const char *const names[] = {"h100-ib-ndr", "gb200-nvl72", "h100-roce"};
    for (const struct problem *const *p = problem_registry; *p; p++)
        for (int world = 1; world <= 256; world *= 4)
            for (size_t i = 0; i < 3; i++) {
                struct topology t;
                struct roofline r;
                struct pkb_error err;
                struct problem_setting s;
                find(names[i], &t);
                problem_setting_init(&s, *p, SHAPE_PAPER, PKB_BF16, 0, world);
                if (problem_setting_check(&s, &err) < 0)
                    continue;
                if (roofline_for_setting(&t, &s, 0, &r, &err) < 0)
                    fail_msg("%s", err.text);
                if (!(r.bound > 0 && r.floor <= r.bound && r.rank >= 0 && r.rank < world))
                    fail_msg("%s, %d ranks, %s: bound %g, floor %g", (*p)->name, world, names[i], r.bound, r.floor);
            }
}

static void verdicts_accuse_only_what_is_impossible(void **state)
{
    (void)state;
    struct topology t;
    const struct roofline r = {.bound = 10e-6, .floor = 4e-6}; /* impossible below 4 * 0.75 - 1 = 2 us */
    static const struct {
        double us;
        double utilisation;
        enum roofline_verdict verdict;
    } rows[] = {
        {20, 0.5, ROOFLINE_PLAUSIBLE},         {10.1, 10 / 10.1, ROOFLINE_PLAUSIBLE}, {8, 1.25, ROOFLINE_ABOVE_MODEL},
        {2.1, 10 / 2.1, ROOFLINE_ABOVE_MODEL}, {1.9, 10 / 1.9, ROOFLINE_IMPOSSIBLE},  {1e-3, 1e4, ROOFLINE_IMPOSSIBLE},
    };
    find("h100-sxm-8", &t);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_near("utilisation", roofline_utilisation(&r, rows[i].us * 1e-6), rows[i].utilisation);
        assert_int_equal(roofline_judge(&t, &r, rows[i].us * 1e-6), rows[i].verdict);
    }
    assert_true(roofline_utilisation(&r, 0) == 0 && roofline_utilisation(&r, -1) == 0 && roofline_utilisation(&r, NAN) == 0);
    assert_int_equal(roofline_judge(&t, &r, 0), ROOFLINE_UNKNOWN);
    assert_int_equal(roofline_judge(&t, &r, NAN), ROOFLINE_UNKNOWN);
    t.figures = FIGURES_MEASURED; /* are no limits */
    assert_int_equal(roofline_judge(&t, &r, 1e-9), ROOFLINE_ABOVE_MODEL);
    t.figures = FIGURES_ESTIMATE;
    assert_int_equal(roofline_judge(&t, &r, 1e-9), ROOFLINE_ABOVE_MODEL);
}

static void rooflines_are_told_as_json(void **state)
{
    (void)state;
    struct roofline r;
    struct pkb_error err;
    assert_int_equal(compute("h100-ib-ndr", 1, PKB_BF16, 64, 0, &r, &err), 0);
    json_t *v = roofline_encode(&r);
    assert_non_null(v);
    assert_near("bound_ns", json_real_value(json_object_get(v, "bound_ns")), r.bound * 1e9);
    assert_string_equal(json_string_value(json_object_get(v, "binds")), "link");
    assert_int_equal(json_array_size(json_object_get(v, "links")), 2);
    json_decref(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_reduce_is_bound_by_nvlink),
        cmocka_unit_test(other_machines_and_types),
        cmocka_unit_test(nodes_are_connected_by_rails),
        cmocka_unit_test(an_nvlink_domain_spans_nodes),
        cmocka_unit_test(a_single_rank_of_a_node_may_use_all_its_rails),
        cmocka_unit_test(what_cannot_be_connected_is_an_error),
        cmocka_unit_test(floors_hold_for_every_implementation),
        cmocka_unit_test(no_problem_has_a_floor_above_its_bound),
        cmocka_unit_test(verdicts_accuse_only_what_is_impossible),
        cmocka_unit_test(rooflines_are_told_as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
