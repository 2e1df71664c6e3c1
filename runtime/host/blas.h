/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices through OpenBLAS. A module of its own (plugins/host_blas.so): loading OpenBLAS starts threads and takes
 * milliseconds, which only runs with products shall pay for. */
#ifndef PKB_RUNTIME_HOST_BLAS_H
#define PKB_RUNTIME_HOST_BLAS_H

#include <stdbool.h>

#define HOST_BLAS_SYMBOL "pkb_host_blas"
#define HOST_BLAS_MODULE "host_blas.so"

/* c (m x n) = op(a) op(b), row-major and contiguous; m, n, k > 0. */
struct host_blas {
    /* One thread, unless OPENBLAS_NUM_THREADS says otherwise: ranks share the cores. */
    void (*start)(void);
    void (*sgemm)(bool trans_a, bool trans_b, int m, int n, int k, const float *a, const float *b, float *c);
    void (*dgemm)(bool trans_a, bool trans_b, int m, int n, int k, const double *a, const double *b, double *c);
};

#endif
