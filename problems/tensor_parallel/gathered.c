/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/tensor_parallel/gathered.h"

int gathered_supports(const struct problem_setting *s, struct pkb_error *err)
{
    if (kit_require_least(s, "K", 1, err) < 0)
        return -1;
    return kit_require_divisible(s, "K", err);
}

int gathered_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    int64_t k = problem_int(s, "K");
    kit_tensor(&t[GATHERED_A], "A_local", s->dtype, RT_SHAPE(problem_int(s, "M"), k / s->world));
    kit_tensor(&t[GATHERED_B], "B", s->dtype, RT_SHAPE(k, problem_int(s, "N")));
    return 2;
}

void gathered_cost(const struct problem_setting *s, struct problem_cost *cost)
{
    double m = problem_real(s, "M"), n = problem_real(s, "N"), k = problem_real(s, "K");
    double size = kit_element(s), k_local = k / s->world;
    cost->flops = 2 * m * n * k;
    cost->hbm_bytes = size * (m * k_local + k * n + m * n) + 2 * size * m * k * (s->world - 1.0) / s->world;
    cost->link_bytes = (s->world - 1.0) * m * k_local * size;
}
