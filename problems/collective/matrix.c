/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/collective/matrix.h"

static int describe_one(const struct problem_setting *s, struct problem_tensor *t, const char *name)
{
    kit_tensor(t, name, s->dtype, RT_SHAPE(problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

static int describe_stack(const struct problem_setting *s, struct problem_tensor *t, const char *name)
{
    kit_tensor(t, name, s->dtype, RT_SHAPE(s->world, problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

int matrix_one_x(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe_one(s, t, "x");
}

int matrix_one_y(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe_one(s, t, "y");
}

int matrix_stack_x(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe_stack(s, t, "x");
}

int matrix_stack_y(const struct problem_setting *s, struct problem_tensor *t)
{
    return describe_stack(s, t, "y");
}

int matrix_tall_x(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(t, "x", s->dtype, RT_SHAPE(s->world * problem_int(s, "M"), problem_int(s, "N")));
    return 1;
}

void matrix_init(const struct problem_setting *s, struct problem_inputs *set)
{
    if (s->inputs == PROFILE_PKB)
        kit_fill_constant(&set->in[0], s->rank + 1);
    else
        kit_fill_normal(s, set, 0);
}

double matrix_elements(const struct problem_setting *s)
{
    return problem_real(s, "M") * problem_real(s, "N");
}

double matrix_bytes(const struct problem_setting *s)
{
    return matrix_elements(s) * kit_element(s);
}
