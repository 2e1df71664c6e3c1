/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/blas.h"

#include <cblas.h>
#include <stdlib.h>

static void start(void)
{
    if (!getenv("OPENBLAS_NUM_THREADS"))
        openblas_set_num_threads(1);
}

static CBLAS_TRANSPOSE flag(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

static void sgemm(bool trans_a, bool trans_b, int m, int n, int k, const float *a, const float *b, float *c)
{
    cblas_sgemm(CblasRowMajor, flag(trans_a), flag(trans_b), m, n, k, 1, a, trans_a ? m : k, b, trans_b ? k : n, 0, c, n);
}

static void dgemm(bool trans_a, bool trans_b, int m, int n, int k, const double *a, const double *b, double *c)
{
    cblas_dgemm(CblasRowMajor, flag(trans_a), flag(trans_b), m, n, k, 1, a, trans_a ? m : k, b, trans_b ? k : n, 0, c, n);
}

extern const struct host_blas pkb_host_blas;

__attribute__((visibility("default"))) const struct host_blas pkb_host_blas = {
    .start = start,
    .sgemm = sgemm,
    .dgemm = dgemm,
};
