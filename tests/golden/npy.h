/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of NumPy array files: format version 1.0, C order, little-endian, the element types that golden data use. */
#ifndef PKB_TESTS_GOLDEN_NPY_H
#define PKB_TESTS_GOLDEN_NPY_H

#include "runtime/dtype.h"

/* An array inside a file's contents; borrows from them. */
struct npy {
    char type[8]; /* as the file says: "<f4" */
    int ndim;
    int64_t shape[PKB_MAX_DIMS];
    const void *data;
    size_t bytes;
};

/* Parses a whole file's contents. Anything but an array that ends where the file ends is an error. */
int npy_parse(const void *file, size_t size, struct npy *array, struct pkb_error *err);

/* The dtype that an element type stands for, given the true name of the dtype as the case's description has it ("bfloat16" is stored
 * as "<u2"). Complex numbers are pairs of f32: *pairs is set and the tensor has one more dimension, of 2. -1 for an unknown
 * or contradictory pair. */
int npy_dtype(const char *true_name, const char *type, bool *pairs, struct pkb_error *err);

/* The array as a tensor of that dtype; borrows the data. */
int npy_tensor(const struct npy *array, const char *true_name, pkb_tensor *t, struct pkb_error *err);

#endif
