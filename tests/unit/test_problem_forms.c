/* SPDX-License-Identifier: Apache-2.0 */
/* Golden cases whose arrays and scalars are not simply the problem's tensors and parameters: a case of a problem made up for the
 * purpose, whole and with one thing changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "problems/kit.h"
#include "tests/golden/case.h"
#include "tests/support/folder.h"
#include "util/file.h"

/* ---- the problem --------------------------------------------------------------------------------------------------- */

/* g (2, 3): a list of two arrays, doubled in place. x (cap, 2): as many rows as n says, copied to y, counted by m. S: a number on
 * every rank, to total with the parameter a. z: complex. On ranks whose parameter `masked` is 1 there is a mask. */
static int forms_inputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "g", s->dtype, RT_SHAPE(2, 3));
    kit_tensor(&t[1], "x", s->dtype, RT_SHAPE(problem_int(s, "cap"), 2));
    kit_counted_rows(&t[1], 2);
    kit_tensor(&t[2], "n", PKB_I64, 0, NULL);
    kit_host(&t[2]);
    kit_tensor(&t[3], "S", PKB_I64, 0, NULL);
    kit_tensor(&t[4], "z", PKB_F32, RT_SHAPE(problem_int(s, "L"), 2));
    kit_tensor(&t[5], "mask", PKB_BOOL, RT_SHAPE(3));
    return problem_int(s, "masked") ? 6 : 5;
}

static int forms_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "g", s->dtype, RT_SHAPE(2, 3));
    kit_in_place(&t[0], 0);
    kit_tensor(&t[1], "y", s->dtype, RT_SHAPE(problem_int(s, "cap"), 2));
    kit_counted_rows(&t[1], 2);
    kit_tensor(&t[2], "m", PKB_I64, 0, NULL);
    kit_tensor(&t[3], "total", PKB_F64, 0, NULL);
    kit_tensor(&t[4], "w", PKB_F32, RT_SHAPE(problem_int(s, "L"), 2));
    return 5;
}

static void forms_reference(const struct problem_call *c)
{
    pkb_tensor *a = rt_new_like(c->rt, PKB_F64, &c->out[3]);
    rt_binary(c->rt, RT_ADD, &c->out[0], &c->out[0], &c->in[0]);
    rt_copy(c->rt, &c->out[1], &c->in[1]);
    rt_copy(c->rt, &c->out[2], &c->in[2]);
    rt_fill(c->rt, a, problem_call_real(c, "a") + 100 * problem_call_real(c, "type"));
    rt_copy(c->rt, &c->out[3], &c->in[3]);
    rt_binary(c->rt, RT_ADD, &c->out[3], &c->out[3], a);
    rt_copy(c->rt, &c->out[4], &c->in[4]);
}

static const struct problem_param params[] = {
    {"cap", 4, 4, true, "most rows"},    {"L", 9, 9, true, "complex numbers"},     {"a", 1, 1, false, "added"},
    {"type", 0, 0, true, "of addition"}, {"masked", 0, 0, true, "whether masked"}, {"b_0", 7, 7, true, "first of a list"},
};

static const struct problem forms = {
    .id = 86,
    .name = "00_forms",
    .params = params,
    .n_params = 6,
    .inputs = forms_inputs,
    .outputs = forms_outputs,
    .reference = forms_reference,
    .check = kit_check_exact,
};

/* ---- the case ------------------------------------------------------------------------------------------------------ */

struct file {
    const char *name, *type, *shape;
    const void *data;
    size_t size;
};

#define FILE_OF(name, type, shape, ctype, ...)                                                                                   \
    {                                                                                                                            \
        name, type, shape, (const ctype[]){__VA_ARGS__}, sizeof((const ctype[]){__VA_ARGS__})                                    \
    }

static const struct file files[] = {
    FILE_OF("rank0_in_g_0", "<f4", "(3,)", float, 1, 2, 3),
    FILE_OF("rank0_in_g_1", "<f4", "(3,)", float, 4, 5, 6),
    FILE_OF("rank0_in_x", "<f4", "(2, 2)", float, 1, 2, 3, 4),
    FILE_OF("rank0_in_z", "<c8", "(2,)", float, 1, -1, 2, -2),
    FILE_OF("rank1_in_g_0", "<f4", "(3,)", float, 0, 0, 1),
    FILE_OF("rank1_in_g_1", "<f4", "(3,)", float, 0, 0, 0),
    FILE_OF("rank1_in_x", "<f4", "(3, 2)", float, 6, 5, 4, 3, 2, 1),
    FILE_OF("rank1_in_z", "<c8", "(2,)", float, 0, 1, 0, 2),
    FILE_OF("rank0_out_out_g_0", "<f4", "(3,)", float, 2, 4, 6),
    FILE_OF("rank0_out_out_g_1", "<f4", "(3,)", float, 8, 10, 12),
    FILE_OF("rank0_out_y", "<f4", "(2, 2)", float, 1, 2, 3, 4),
    FILE_OF("rank0_out_total", "<f8", "()", double, 22.5),
    FILE_OF("rank0_out_w", "<c8", "(2,)", float, 1, -1, 2, -2),
    FILE_OF("rank1_out_out_g_0", "<f4", "(3,)", float, 0, 0, 2),
    FILE_OF("rank1_out_out_g_1", "<f4", "(3,)", float, 0, 0, 0),
    FILE_OF("rank1_out_y", "<f4", "(3, 2)", float, 6, 5, 4, 3, 2, 1),
    FILE_OF("rank1_out_total", "<f8", "()", double, 11.5),
    FILE_OF("rank1_out_w", "<c8", "(2,)", float, 0, 1, 0, 2),
    FILE_OF("rank0_in_mask", "|u1", "(3,)", uint8_t, 1, 0, 1),
    FILE_OF("rank1_in_mask", "|u1", "(3,)", uint8_t, 1, 0, 1),
};

static const char meta[] =
    "{'world_size': 2, 'dtype': 'f32', 'arguments': [], 'scalars': {'a': 1.5, 'S': 21, 'b': [5], 'opt': null}, "
    "'scalars_per_rank': {'S': [21, 10]}, 'sensitivity': 0, 'inputs': ["
    "{'name': 'g_0', 'dtype': 'float32', 'shape': [[3], [3]]}, {'name': 'g_1', 'dtype': 'float32', 'shape': [[3], [3]]}, "
    "{'name': 'x', 'dtype': 'float32', 'shape': [[2, 2], [3, 2]]}, {'name': 'z', 'dtype': 'complex64', 'shape': [[2], [2]]}], "
    "'outputs': [{'name': 'out_g_0', 'dtype': 'float32', 'shape': [[3], [3]]}, "
    "{'name': 'out_g_1', 'dtype': 'float32', 'shape': [[3], [3]]}, {'name': 'y', 'dtype': 'float32', 'shape': [[2, 2], [3, 2]]}, "
    "{'name': 'total', 'dtype': 'float64', 'shape': [[], []]}, {'name': 'w', 'dtype': 'complex64', 'shape': [[2], [2]]}]}";

static void write_file(const struct file *f, const char *shape, const void *data, size_t size)
{
    char header[128], *path = pkb_format(NULL, "%s/%s.npy", test_folder, f->name);
    uint8_t whole[400] = "\x93NUMPY\x01";
    int n = snprintf(header, sizeof(header), "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", f->type, shape);
    assert_non_null(path);
    whole[8] = (uint8_t)n;
    memcpy(whole + 10, header, (size_t)n);
    memcpy(whole + 10 + n, data, size);
    assert_int_equal(pkb_file_write(path, (char *)whole, 10 + (size_t)n + size, NULL), 0);
    free(path);
}

/* The description with one text replaced by another; the caller frees. */
static char *changed_meta(const char *from, const char *to)
{
    const char *at = from ? strstr(meta, from) : NULL;
    size_t before = at ? (size_t)(at - meta) : sizeof(meta) - 1;
    char *text = NULL;
    assert_true(!from || at);
    text = pkb_format(NULL, "%.*s%s%s", (int)before, meta, at ? to : "", at ? at + strlen(from) : "");
    assert_non_null(text);
    for (char *c = text; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return text;
}

static int run(const char *from, const char *to, struct pkb_error *err)
{
    struct golden_case c = {.folder = test_folder, .problem = &forms};
    char *text = changed_meta(from, to);
    c.meta = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(c.meta);
    int rc = golden_case_describe(&c, err);
    if (rc == 0)
        rc = golden_case_run(&c, err) == GOLDEN_PASSED ? 0 : -1;
    golden_arrays_destroy(&c.in);
    golden_arrays_destroy(&c.out);
    json_decref(c.meta);
    return rc;
}

struct row {
    const char *from, *to; /* in the description */
    const char *error;     /* NULL: passes */
};

#define MASK ", {'name': 'mask', 'dtype': 'bool', 'shape': [[3], [3]]}], 'outputs'"

static const struct row rows[] = {
    {NULL, NULL, NULL},
    {"'b': [5]", "'b': []", NULL},
    {"'opt': null", "'coefficient_type': 'simple'", NULL},
    {"'opt': null", "'type': null", NULL},
    {"], 'outputs'", MASK, NULL},
    {"'a': 1.5, 'S': 21", "'a': 1.5, 'S': 4", NULL},
    {"{'a': 1.5, 'S': 21, 'b': [5], 'opt': null}, ", "{'a': 5, 'S': 21}, 'scalars_per_rank2': {}, ",
     "output total: 1 of 1 elements"},
    {"'scalars_per_rank': {'S': [21, 10]}", "'scalars_per_rank': {'S': [21, 10], 'a': [1.5, 1.5]}", NULL},

    {"'scalars_per_rank': {'S': [21, 10]}, ", "", "rank 1: output total: 1 of 1 elements differ"},
    {"'S': [21, 10]", "'S': [21, 10], 'a': [1.5, 2.5]", "rank 1: output total"},
    {"{'a': 1.5, 'S': 21, 'b': [5], 'opt': null}, 'scalars_per_rank': {'S': [21, 10]}", "{'a': 1.5}",
     "input S on rank 0: the case has no array"},
    {"'opt': null", "'opt': 3", "no parameter 'opt'"},
    {"'opt': null", "'coefficient_type': 'aol'", "output total: 1 of 1 elements differ"},
    {"'opt': null", "'coefficient_type': 'newton'", "which is none of: simple quintic"},
    {"'opt': null", "'type': 'aol'", "scalar type is not a number"},
    {"'opt': null", "'type': 1", "output total"},
    {"'opt': null", "'partition_dim': 1", "no parameter 'pdim'"},
    {"'b': [5]", "'b': [5, 6]", "no parameter 'b_1'"},
    {"'b': [5]", "'b': ['x']", "scalar b is not a number"},
    {"'name': 'g_1', 'dtype': 'float32', 'shape': [[3], [3]]", "'name': 'g_2', 'dtype': 'float32', 'shape': [[3], [3]]",
     "input g on rank 0: the problem has the shape (2, 3), the case (3) 1 times"},
    {"'name': 'g_1', 'dtype': 'float32', 'shape': [[3], [3]]", "'name': 'g_1', 'dtype': 'float32', 'shape': [[3], [4]]",
     "input g on rank 1"},
    {"'name': 'x', 'dtype': 'float32', 'shape': [[2, 2], [3, 2]]", "'name': 'x', 'dtype': 'float32', 'shape': [[2, 2], [2, 2]]",
     "rank1_in_x.npy: the shape is not the one"},
    {"'name': 'x', 'dtype': 'float32', 'shape': [[2, 2], [3, 2]]", "'name': 'x', 'dtype': 'float32', 'shape': [[2, 2], [3, 1]]",
     "input x on rank 1"},
    {"'name': 'x', 'dtype': 'float32'", "'name': 'x', 'dtype': 'int32'", "int32 is stored as"},
    {"'name': 'z', 'dtype': 'complex64'", "'name': 'z', 'dtype': 'float32'", "input z on rank 0"},
    {"'out_g_1'", "'g_1'", "output g on rank 0"},
    {"'name': 'y', 'dtype': 'float32', 'shape': [[2, 2], [3, 2]]", "'name': 'y', 'dtype': 'float32', 'shape': [[2, 2], [2, 2]]",
     "rank 1: output y: 3 rows, the case has 2"},
    {"], 'outputs'", ", {'name': 'u', 'dtype': 'bool', 'shape': [[3], [3]]}], 'outputs'", "arrays that are no tensors"},
};

static void cases_are_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err = {""};
        int rc = run(rows[i].from, rows[i].to, &err);
        if (rows[i].error ? rc != -1 || !strstr(err.text, rows[i].error) : rc != 0)
            fail_msg("%s: %d, '%s'", rows[i].to ? rows[i].to : "unchanged", rc, err.text);
    }
}

/* Every output array is looked at, to its last element. */
static void wrong_arrays_are_noticed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const struct file *f = &files[i];
        uint8_t other[64];
        struct pkb_error err = {""};
        if (!strstr(f->name, "_out_"))
            continue;
        memcpy(other, f->data, f->size);
        other[f->size - 1] ^= 0x41;
        write_file(f, f->shape, other, f->size);
        if (run(NULL, NULL, &err) == 0 || !strstr(err.text, "elements differ"))
            fail_msg("%s: '%s'", f->name, err.text);
        write_file(f, f->shape, f->data, f->size);
    }
}

static int make_files(void **state)
{
    if (test_folder_make(state) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        write_file(&files[i], files[i].shape, files[i].data, files[i].size);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_run),
        cmocka_unit_test(wrong_arrays_are_noticed),
    };
    return cmocka_run_group_tests(tests, make_files, test_folder_remove);
}
