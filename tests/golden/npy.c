/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/golden/npy.h"

#include <stdlib.h>
#include <string.h>

/* Magic, version and the length of the header. */
#define PREFIX 10

/* Stands for any size in a file that fits into memory. */
#define LARGEST_SIZE ((int64_t)1 << 48)

/* The header while it is read. */
struct cursor {
    const char *at, *end;
};

static bool accept(struct cursor *c, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0)
        return false;
    c->at += n;
    return true;
}

static bool read_number(struct cursor *c, int64_t *value)
{
    const char *start = c->at;
    *value = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        *value = *value * 10 + (*c->at++ - '0');
        if (*value > LARGEST_SIZE)
            return false;
    }
    return c->at > start;
}

/* (), (3,), (3, 4), ... */
static int read_shape(struct cursor *c, struct npy *array, struct pkb_error *err)
{
    if (!accept(c, "("))
        return pkb_error_set(err, "the shape is no tuple");
    while (!accept(c, ")")) {
        if (array->ndim == PKB_MAX_DIMS)
            return pkb_error_set(err, "the shape has more than %d dimensions", PKB_MAX_DIMS);
        if (!read_number(c, &array->shape[array->ndim]))
            return pkb_error_set(err, "the shape has an entry that is no size");
        array->ndim++;
        if (accept(c, ", "))
            continue;
        if (array->ndim == 1 && accept(c, ",)"))
            break;
        if (array->ndim == 1 || !accept(c, ")"))
            return pkb_error_set(err, "the shape is malformed");
        break;
    }
    return 0;
}

static int read_type(struct cursor *c, struct npy *array, struct pkb_error *err)
{
    size_t n = 0;
    while (c->at < c->end && *c->at != '\'') {
        if (n + 1 == sizeof(array->type))
            return pkb_error_set(err, "the element type is too long");
        array->type[n++] = *c->at++;
    }
    array->type[n] = '\0';
    return accept(c, "', ") ? 0 : pkb_error_set(err, "the element type is malformed");
}

static int read_header(struct cursor *c, struct npy *array, struct pkb_error *err)
{
    if (!accept(c, "{'descr': '"))
        return pkb_error_set(err, "the header does not start with a simple element type");
    if (read_type(c, array, err) < 0)
        return -1;
    if (!accept(c, "'fortran_order': False, "))
        return pkb_error_set(err, "the array is not in C order");
    if (!accept(c, "'shape': "))
        return pkb_error_set(err, "the header has no shape");
    if (read_shape(c, array, err) < 0)
        return -1;
    if (!accept(c, ", }"))
        return pkb_error_set(err, "the header does not end after the shape");
    while (c->at < c->end && *c->at == ' ')
        c->at++;
    if (c->end - c->at != 1 || *c->at != '\n')
        return pkb_error_set(err, "the header is not padded with spaces and a line end");
    return 0;
}

/* Bytes of one element: the digits of the type. */
static size_t element_bytes(const char *type)
{
    size_t n = strlen(type);
    return n == 3 && type[2] >= '1' && type[2] <= '8' ? (size_t)(type[2] - '0') : 0;
}

static int check_size(const struct npy *array, struct pkb_error *err)
{
    size_t bytes = element_bytes(array->type);
    if (bytes == 0)
        return pkb_error_set(err, "unknown element type '%s'", array->type);
    for (int i = 0; i < array->ndim; i++) {
        if (__builtin_mul_overflow(bytes, (size_t)array->shape[i], &bytes))
            return pkb_error_set(err, "the shape is too large");
    }
    if (bytes != array->bytes)
        return pkb_error_set(err, "the file holds %zu bytes of data, its shape needs %zu", array->bytes, bytes);
    return 0;
}

int npy_parse(const void *file, size_t size, struct npy *array, struct pkb_error *err)
{
    const unsigned char *bytes = file;
    memset(array, 0, sizeof(*array));
    if (size < PREFIX || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return pkb_error_set(err, "not a NumPy array file");
    if (bytes[6] != 1 || bytes[7] != 0)
        return pkb_error_set(err, "format version %d.%d; only 1.0 is read", bytes[6], bytes[7]);
    size_t header = bytes[8] + 256u * bytes[9];
    if (header > size - PREFIX)
        return pkb_error_set(err, "the file ends within its header");
    struct cursor c = {.at = (const char *)file + PREFIX, .end = (const char *)file + PREFIX + header};
    if (read_header(&c, array, err) < 0)
        return -1;
    array->data = bytes + PREFIX + header;
    array->bytes = size - PREFIX - header;
    return check_size(array, err);
}

static const struct {
    const char *name, *type;
    int dtype;
    bool pairs;
} types[] = {
    {"bfloat16", "<u2", PKB_BF16, false}, {"float16", "<f2", PKB_F16, false},
    {"float32", "<f4", PKB_F32, false},   {"float64", "<f8", PKB_F64, false},
    {"int32", "<i4", PKB_I32, false},     {"int64", "<i8", PKB_I64, false},
    {"uint8", "|u1", PKB_U8, false},      {"bool", "|u1", PKB_BOOL, false},
    {"complex64", "<c8", PKB_F32, true},  {"float8_e4m3fn", "|u1", PKB_FP8_E4M3, false},
};

int npy_dtype(const char *true_name, const char *type, bool *pairs, struct pkb_error *err)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].name, true_name) != 0)
            continue;
        if (strcmp(types[i].type, type) != 0)
            return pkb_error_set(err, "%s is stored as '%s', not as '%s'", true_name, types[i].type, type);
        *pairs = types[i].pairs;
        return types[i].dtype;
    }
    return pkb_error_set(err, "unknown dtype '%s'", true_name);
}

int npy_tensor(const struct npy *array, const char *true_name, pkb_tensor *t, struct pkb_error *err)
{
    bool pairs = false;
    int dtype = npy_dtype(true_name, array->type, &pairs, err);
    if (dtype < 0)
        return -1;
    if (pairs && array->ndim == PKB_MAX_DIMS)
        return pkb_error_set(err, "complex array with too many dimensions");
    memset(t, 0, sizeof(*t));
    t->data = (void *)(uintptr_t)array->data;
    t->dtype = dtype;
    t->ndim = array->ndim;
    memcpy(t->shape, array->shape, sizeof(t->shape));
    if (pairs)
        t->shape[t->ndim++] = 2;
    return 0;
}
