/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose numbers a test knows, for comparing operations with plain evaluations. Everything fails the running cmocka test
 * when something is wrong. */
#ifndef PKB_TESTS_SUPPORT_ARRAY_H
#define PKB_TESTS_SUPPORT_ARRAY_H

#include "runtime/runtime.h"

#define ARRAY_MAX 4096 /* elements */

/* A device tensor and the numbers in it. */
struct array {
    pkb_tensor *t;
    size_t n;
    double x[ARRAY_MAX];
};

/* A runtime of one rank on the host backend; NULL after printing why. */
struct rt *array_runtime(void);

/* The one that a program's tests share and that the functions below use: fixtures of the group open and close it. */
extern struct rt *rt;
int array_set_up(void **state);
int array_tear_down(void **state);

/* A temporary with numbers from low to high (integers: high included), others at every call. */
void array_make(struct array *a, int dtype, int ndim, const int64_t *shape, double low, double high);

/* The tensor's storage, after a sync that must succeed. */
void array_fetch(const pkb_tensor *t, void *stored);

/* The tensor holds exactly these numbers, rounded first to f32 when `f32` is set, then to its dtype. NaN equals NaN. */
void array_check_exact(const pkb_tensor *t, const double *want, size_t n, bool f32);

/* The tensor holds these numbers up to one rounding to its dtype and a relative error. */
void array_check_close(const pkb_tensor *t, const double *want, size_t n, double relative);

/* Index of each dimension of element i, and back. */
void array_unravel(const pkb_tensor *t, size_t i, int64_t index[PKB_MAX_DIMS]);
size_t array_ravel(const pkb_tensor *t, const int64_t index[PKB_MAX_DIMS]);

#endif
