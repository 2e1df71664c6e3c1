/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden/npy.h"

struct row {
    const char *header;
    size_t data;       /* bytes behind the header */
    const char *error; /* NULL: well formed */
    int ndim;
    int64_t shape[3];
};

#define PLAIN "{'descr': '<f4', 'fortran_order': False, 'shape': "

static const struct row rows[] = {
    {PLAIN "(2, 3), }   \n", 24, NULL, 2, {2, 3}},
    {PLAIN "(42,), }\n", 168, NULL, 1, {42}},
    {PLAIN "(), }\n", 4, NULL, 0, {0}},
    {PLAIN "(0, 7), }\n", 0, NULL, 2, {0, 7}},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n", 5, NULL, 1, {5}},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3), }\n", 48, NULL, 3, {1, 2, 3}},

    {PLAIN "(2, 3), }\n", 20, "holds 20 bytes of data, its shape needs 24", 0, {0}},
    {PLAIN "(2, 3), }\n", 25, "holds 25 bytes", 0, {0}},
    {PLAIN "(42), }\n", 168, "the shape is malformed", 0, {0}},
    {PLAIN "(4, 2,), }\n", 32, "the shape is malformed", 0, {0}},
    {PLAIN "(-1,), }\n", 4, "an entry that is no size", 0, {0}},
    {PLAIN "(x,), }\n", 4, "an entry that is no size", 0, {0}},
    {PLAIN "(1.5,), }\n", 4, "the shape is malformed", 0, {0}},
    {PLAIN "(99999999999999999999999,), }\n", 4, "an entry that is no size", 0, {0}},
    {PLAIN "(281474976710656, 281474976710656), }\n", 4, "too large", 0, {0}},
    {PLAIN "(1, 1, 1, 1, 1, 1, 1, 1, 1), }\n", 4, "more than 8 dimensions", 0, {0}},
    {PLAIN "(2", 8, "the shape is malformed", 0, {0}},
    {PLAIN "[2], }\n", 8, "no tuple", 0, {0}},
    {PLAIN "(2,), }", 8, "not padded", 0, {0}},
    {PLAIN "(2,), }x\n", 8, "not padded", 0, {0}},
    {PLAIN "(2,)}\n", 8, "does not end after the shape", 0, {0}},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }\n", 8, "not in C order", 0, {0}},
    {"{'descr': '<f4', 'shape': (2,), }\n", 8, "not in C order", 0, {0}},
    {"{'descr': '<f4', 'fortran_order': False, }\n", 8, "no shape", 0, {0}},
    {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }\n", 8, "simple element type", 0, {0}},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n", 8, "unknown element type '|O'", 0, {0}},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (2,), }\n", 32, "unknown element type", 0, {0}},
    {"{'descr': '<f4aaaaaaaaaaaa', 'fortran_order': False, 'shape': (2,), }\n", 8, "too long", 0, {0}},
    {"", 0, "simple element type", 0, {0}},
};

/* A file of that header and as many zero bytes, in memory that ends with it, so that reading on is noticed. */
static unsigned char *make_file(const char *header, size_t data, size_t *size)
{
    size_t length = strlen(header);
    *size = 10 + length + data;
    unsigned char *file = calloc(1, *size);
    assert_non_null(file);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (unsigned char)(length & 255);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + 10, header, length);
    return file;
}

static void headers_are_read_strictly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct pkb_error err = {""};
        struct npy array;
        size_t size;
        unsigned char *file = make_file(r->header, r->data, &size);
        int rc = npy_parse(file, size, &array, &err);
        if (r->error ? rc != -1 || !strstr(err.text, r->error) : rc != 0)
            fail_msg("%s: %d, '%s'", r->header, rc, err.text);
        if (rc == 0) {
            assert_int_equal(array.ndim, r->ndim);
            assert_memory_equal(array.shape, r->shape, sizeof(r->shape));
            assert_ptr_equal(array.data, file + size - r->data);
        }
        free(file);
    }
}

static void files_may_end_anywhere(void **state)
{
    (void)state;
    size_t size;
    struct npy array;
    unsigned char *file = make_file(PLAIN "(2, 3), }  \n", 24, &size);
    for (size_t n = 0; n < size; n++) {
        unsigned char *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, file, n);
        assert_int_equal(npy_parse(cut, n, &array, NULL), -1);
        free(cut);
    }
    file[6] = 2;
    assert_int_equal(npy_parse(file, size, &array, NULL), -1);
    file[6] = 1;
    file[0] = 'N';
    assert_int_equal(npy_parse(file, size, &array, NULL), -1);
    free(file);
}

static void dtypes_must_agree_with_their_storage(void **state)
{
    (void)state;
    static const struct {
        const char *name, *type;
        int dtype;
    } pairs_of_types[] = {
        {"bfloat16", "<u2", PKB_BF16}, {"float32", "<f4", PKB_F32}, {"bool", "|u1", PKB_BOOL}, {"complex64", "<c8", PKB_F32},
        {"bfloat16", "<f4", -1},       {"float32", ">f4", -1},      {"int16", "<i2", -1},      {"", "", -1},
    };
    for (size_t i = 0; i < sizeof(pairs_of_types) / sizeof(pairs_of_types[0]); i++) {
        bool pairs;
        int dtype = npy_dtype(pairs_of_types[i].name, pairs_of_types[i].type, &pairs, NULL);
        assert_int_equal(dtype, pairs_of_types[i].dtype);
    }
    struct npy array = {.type = "<c8", .ndim = 1, .shape = {5}};
    pkb_tensor t;
    assert_int_equal(npy_tensor(&array, "complex64", &t, NULL), 0);
    assert_int_equal(t.ndim, 2);
    assert_true(t.shape[0] == 5 && t.shape[1] == 2 && t.dtype == PKB_F32);
    array.ndim = PKB_MAX_DIMS;
    assert_int_equal(npy_tensor(&array, "complex64", &t, NULL), -1);
    assert_int_equal(npy_tensor(&array, "float32", &t, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read_strictly),
        cmocka_unit_test(files_may_end_anywhere),
        cmocka_unit_test(dtypes_must_agree_with_their_storage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
