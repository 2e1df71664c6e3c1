/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs, sparse features, other exchanges of irregular size, scientific computing and vision: settings and costs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/problem_rows.h"

static const struct setting_row setting_rows[] = {
    {61, PKB_F16, 95, 96, NULL, 0, NULL},
    {61, PKB_BF16, 0, 97, NULL, 0, "N = 96 is less than 97"},
    {61, PKB_BF16, 0, 2, "C", 0, "C = 0 is less than 1"},
    {61, PKB_BF16, 0, 2, "eps2d", 0, "eps2d = 0 is not positive"},
    {79, PKB_BF16, 4, 5, "max_k", 40, NULL},
    {81, PKB_F16, 2, 3, "reverse", 1, NULL},
    {79, PKB_BF16, 0, 2, "max_k", 41, "max_k = 41 is more than the 40 training vectors of a rank"},
    {79, PKB_BF16, 0, 2, "nc", 0, "nc = 0 is less than 1"},
    {79, PKB_BF16, 0, 2, "Q", 0, "output sims has no elements"},
    {81, PKB_BF16, 0, 2, "c0", 0, "c0 = 0 is less than 1"},
    {81, PKB_BF16, 0, 2, "reverse", 2, "reverse must be 0 or 1"},
    {81, PKB_BF16, 0, 2, "iou_threshold", 1.5, "iou_threshold = 1.5 is not between 0 and 1"},
    {59, PKB_BF16, 6, 7, NULL, 0, NULL},
    {60, PKB_F32, 7, 8, NULL, 0, NULL},
    {62, PKB_BF16, 4, 5, NULL, 0, NULL},
    {85, PKB_F16, 16, 17, NULL, 0, NULL},
    {59, PKB_BF16, 0, 2, "B", 0, "B = 0 is less than 1"},
    {59, PKB_BF16, 0, 2, "H", 0, "H = 0 is less than 1"},
    {60, PKB_BF16, 0, 2, "X", 41, "X = 41 is odd"},
    {60, PKB_BF16, 0, 3, NULL, 0, "X = 40 is not divisible by 3 ranks"},
    {60, PKB_BF16, 0, 5, NULL, 0, "H = 24 is not divisible by 5 ranks"},
    {62, PKB_BF16, 0, 2, "Cin", 3, "Cin = 3 is not divisible by 2"},
    {62, PKB_BF16, 0, 2, "groups", 3, "Cin = 4 is not divisible by 3"},
    {62, PKB_BF16, 0, 2, "E", 9, "E = 9 entries do not fit onto 16 longitudes"},
    {62, PKB_BF16, 0, 2, "K", 0, "K = 0 is less than 1"},
    {64, PKB_BF16, 1, 2, "V", 5, NULL},
    {65, PKB_F16, 4, 5, NULL, 0, NULL},
    {66, PKB_F64, 6, 7, NULL, 0, NULL},
    {67, PKB_BF16, 47, 48, NULL, 0, NULL},
    {68, PKB_BF16, 2, 3, "V", 5, NULL},
    {69, PKB_F32, 10, 11, NULL, 0, NULL},
    {70, PKB_BF16, 2, 3, "weights", 1, NULL},
    {64, PKB_BF16, 0, 2, "V", 4, "6 seeds are more than the 4 nodes"},
    {64, PKB_BF16, 0, 2, "deg", 0, "deg = 0 is less than 1"},
    {65, PKB_BF16, 0, 2, "least", 0, "least = 0 is less than 1"},
    {66, PKB_BF16, 0, 2, "least", 0, "least = 0 is less than 1"},
    {66, PKB_BF16, 0, 2, "D", 0, "output grad has no elements"},
    {67, PKB_BF16, 0, 49, NULL, 0, "n = 48 is less than 49"},
    {67, PKB_BF16, 0, 2, "V", 0, "V = 0 is less than 1"},
    {68, PKB_BF16, 0, 3, "Q", 6, "Q = 6 is less than 7"},
    {68, PKB_BF16, 0, 2, "V", 0, "V = 0 is less than 1"},
    {68, PKB_BF16, 0, 2, "D", 0, "D = 0 is less than 1"},
    {68, PKB_BF16, 0, 2, "O", 0, "output out has no elements"},
    {69, PKB_BF16, 0, 2, "Nn", 0, "Nn = 0 is less than 1"},
    {69, PKB_BF16, 0, 2, "least", 0, "least = 0 is less than 1"},
    {70, PKB_BF16, 0, 2, "Lmin", 7, "Lmin = 7 is more than Lmax = 6"},
    {70, PKB_BF16, 0, 2, "Lmax", 0, "Lmax = 0 is less than 1"},
    {70, PKB_BF16, 0, 2, "Vmax", 0, "Vmax = 0 is less than 1"},
    {70, PKB_BF16, 0, 2, "weights", 2, "weights must be 0 or 1"},
};

static const struct cost_row cost_rows[] = {
    {61, 0, 2, 105600, 12772.8, 2688},
    {61, 3, 4, 195300, 22562.4, 7812},
    {79, 0, 2, 10240, 2056, 328},
    {79, 3, 4, 20480, 2312, 984},
    {81, 0, 2, 2880, 4677, 772},
    {81, 1, 4, 12672, 9749, 3474},
    {59, 0, 2, 36549.16485719012, 23232, 3840},
    {59, 3, 4, 18274.58242859506, 11616, 2880},
    {60, 0, 2, 95106.14971784178, 46464, 7680},
    {60, 3, 4, 47553.07485892089, 23232, 5760},
    {62, 0, 2, 24576, 5440, 3200},
    {62, 3, 4, 18432, 3392, 5120},
    {85, 0, 2, 0, 154, 37},
    {85, 1, 4, 0, 166, 63},
    {64, 0, 2, 0, 2810.7754729468679, 556.14296348237849},
    {64, 0, 4, 0, 2810.7754729468679, 834.21444522356774},
    {70, 0, 2, 0, 1280, 536},
    {70, 1, 4, 0, 3840, 1352},
    {65, 0, 2, 0, 960, 192},
    {65, 3, 4, 0, 960, 288},
    {66, 0, 2, 192, 1344, 384},
    {66, 3, 4, 192, 1344, 576},
    {67, 0, 2, 0, 2292, 584},
    {67, 3, 4, 0, 2196, 834},
    {68, 0, 2, 51200, 7712, 2000},
    {68, 3, 4, 46592, 7064, 2730},
    {69, 0, 2, 2460, 596, 48},
    {69, 1, 4, 2870, 790, 168},
};

static struct problem_rows rows_of_problems = PROBLEM_ROWS(setting_rows, cost_rows);

/* 64: the published graph at the paper's size: 512 and 10 sources, 5120 and 50 edges, 527 nodes. */
static void cost_of_the_published_graph(void **state)
{
    (void)state;
    struct problem_setting s;
    struct problem_cost cost;
    problem_setting_init(&s, problem_by_id(64), SHAPE_PAPER, PKB_BF16, 7, 8);
    s.inputs = PROFILE_PKB;
    problem_by_id(64)->cost(&s, &cost);
    assert_true(fabs(cost.hbm_bytes - (8 * 512 + 24 * 522 + 40 * 5170 + 8 * 527)) < 1e-6);
    assert_true(fabs(cost.link_bytes - 7.0 / 8 * 16 * (522 + 5170)) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROBLEM_ROWS_TESTS(&rows_of_problems),
        cmocka_unit_test(cost_of_the_published_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
