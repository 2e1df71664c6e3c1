/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/evaluate_or_fail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct evaluation *evaluation_or_fail(const struct problem_setting *s)
{
    struct pkb_error err = {""};
    struct evaluation *e = evaluation_create(s, &err);
    if (!e)
        fail_msg("%s", err.text);
    return e;
}

struct evaluation *evaluation_tiny(int id, int dtype, int world, uint32_t trial)
{
    struct problem_setting s;
    problem_setting_init(&s, problem_by_id(id), SHAPE_TINY, dtype, 0, world);
    struct evaluation *e = evaluation_or_fail(&s);
    evaluation_init(e, trial);
    return e;
}

double evaluation_element(const pkb_tensor *t, size_t i)
{
    double value;
    dtype_to_f64(t->dtype, &value, (const char *)t->data + i * dtype_size(t->dtype), 1);
    return value;
}
