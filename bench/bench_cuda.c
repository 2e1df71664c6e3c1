/* SPDX-License-Identifier: Apache-2.0 */
/* Speed of the CUDA backend's operations, on a GPU: each against a copy inside device memory of as many bytes as it must read and
 * write, or for products against the arithmetic of a large one. Prints a table, and a RATIO line for each operation. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/runtime.h"
#include "util/clock.h"

#define WARM 5
#define TIMED 21

struct job {
    const char *name;
    void (*run)(struct rt *rt, const struct job *j);
    double bytes; /* read and written */
    pkb_tensor *dst, *a, *b;
    int op;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median of the times on the device in ns, 0 after a failure. */
static double time_job(struct rt *rt, const struct job *j)
{
    double ns[TIMED] = {0};
    struct pkb_error err = {""};
    for (int i = 0; i < WARM; i++)
        j->run(rt, j);
    for (int i = 0; i < TIMED; i++) {
        rt_event_record(rt, 2 * i);
        j->run(rt, j);
        rt_event_record(rt, 2 * i + 1);
    }
    if (rt_sync(rt, &err)) {
        fprintf(stderr, "%s: %s\n", j->name, err.text);
        return 0;
    }
    for (int i = 0; i < TIMED; i++)
        ns[i] = rt_event_elapsed_ns(rt, 2 * i, 2 * i + 1);
    qsort(ns, TIMED, sizeof(ns[0]), ascending);
    return ns[TIMED / 2];
}

/* ---- operations ---------------------------------------------------------------------------------------------------- */

static void run_copy(struct rt *rt, const struct job *j)
{
    rt_copy(rt, j->dst, j->a);
}

static void run_fill(struct rt *rt, const struct job *j)
{
    rt_fill(rt, j->dst, 1);
}

static void run_unary(struct rt *rt, const struct job *j)
{
    rt_unary(rt, (enum rt_unary)j->op, j->dst, j->a);
}

static void run_binary(struct rt *rt, const struct job *j)
{
    rt_binary(rt, (enum rt_binary)j->op, j->dst, j->a, j->b);
}

static void run_scalar(struct rt *rt, const struct job *j)
{
    rt_binary_scalar(rt, (enum rt_binary)j->op, j->dst, j->a, 1.5);
}

static void run_reduce(struct rt *rt, const struct job *j)
{
    rt_reduce_axis(rt, RT_SUM, j->dst, j->a, j->op);
}

static void run_permute(struct rt *rt, const struct job *j)
{
    static const int order[] = {1, 0};
    rt_permute(rt, j->dst, j->a, order);
}

static void run_take_rows(struct rt *rt, const struct job *j)
{
    rt_take_rows(rt, j->dst, j->a, j->b);
}

static void run_argsort(struct rt *rt, const struct job *j)
{
    rt_argsort(rt, j->dst, j->a);
}

static void run_where(struct rt *rt, const struct job *j)
{
    rt_where(rt, j->dst, j->b, j->a, j->dst);
}

static void run_softmax(struct rt *rt, const struct job *j)
{
    rt_softmax(rt, j->dst, j->a);
}

static void run_cumsum(struct rt *rt, const struct job *j)
{
    rt_cumsum(rt, j->dst, j->a);
}

static void run_take_columns(struct rt *rt, const struct job *j)
{
    rt_take(rt, j->dst, j->a, j->b, 1);
}

static void run_put_rows(struct rt *rt, const struct job *j)
{
    rt_put_rows(rt, j->dst, j->a, j->b);
}

static void run_add_rows(struct rt *rt, const struct job *j)
{
    rt_add_rows(rt, j->dst, j->a, j->b);
}

static void run_im2col(struct rt *rt, const struct job *j)
{
    static const struct rt_window w = {{3, 3}, {1, 1}, {1, 1}, {1, 1}};
    rt_im2col(rt, j->dst, j->a, &w);
}

static void run_fft(struct rt *rt, const struct job *j)
{
    rt_fft(rt, RT_FFT_FORWARD, j->dst, j->a);
}

static void run_matmul(struct rt *rt, const struct job *j)
{
    rt_matmul(rt, j->dst, j->a, false, j->b, false);
}

static void run_barrier(struct rt *rt, const struct job *j)
{
    (void)j;
    rt_symm_barrier(rt);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

#define N ((int64_t)8192)

static pkb_tensor *random_matrix(struct rt *rt, int dtype, int64_t rows, int64_t columns)
{
    pkb_tensor *t = rt_new(rt, dtype, RT_SHAPE(rows, columns)), *small = rt_new(rt, PKB_F32, RT_SHAPE(rows, columns));
    float *host = malloc((size_t)(rows * columns) * sizeof(*host));
    struct pkb_error err;
    for (int64_t i = 0; host && i < rows * columns; i++)
        host[i] = (float)(((uint64_t)i * 2654435761u >> 7) % 2048) / 1024.0f - 1.0f;
    if (host) {
        rt_upload(rt, small, host);
        rt_copy(rt, t, small);
        (void)rt_sync(rt, &err);
    }
    free(host);
    return t;
}

/* RATIO lines come last. */
static struct {
    const char *name;
    double ratio;
} ratios[48];
static int n_ratios;

static void report(const struct job *j, double ns, double copy_bytes_per_ns)
{
    double ideal = j->bytes / copy_bytes_per_ns;
    printf("%-34s %10.1f us", j->name, ns * 1e-3);
    if (j->bytes > 0 && ns > 0) {
        printf(" %8.1f GB/s", j->bytes / ns);
        ratios[n_ratios].name = j->name;
        ratios[n_ratios++].ratio = ns / ideal;
    }
    printf("\n");
}

static void large(struct rt *rt)
{
    pkb_tensor *x = random_matrix(rt, PKB_BF16, N, N), *y = random_matrix(rt, PKB_BF16, N, N);
    pkb_tensor *z = rt_new(rt, PKB_BF16, RT_SHAPE(N, N)), *wide = random_matrix(rt, PKB_F32, N, N);
    pkb_tensor *row = random_matrix(rt, PKB_BF16, 1, N), *column = random_matrix(rt, PKB_F32, N, 1);
    pkb_tensor *sum = rt_new(rt, PKB_F32, RT_SHAPE(N)), *index = rt_new(rt, PKB_I64, RT_SHAPE(N));
    pkb_tensor *wide_out = rt_new(rt, PKB_F32, RT_SHAPE(N, N)), *keys = random_matrix(rt, PKB_F32, 1, N * 1024);
    pkb_tensor *flat = rt_view(rt, keys, 1, (const int64_t[]){N * 1024}), *order = rt_new(rt, PKB_I64, RT_SHAPE(N * 1024));
    pkb_tensor *flags = rt_new(rt, PKB_BOOL, RT_SHAPE(N, N)), *complex_in = rt_view(rt, wide, RT_SHAPE(N, N / 2, 2));
    pkb_tensor *complex_out = rt_view(rt, wide_out, RT_SHAPE(N, N / 2, 2));
    pkb_tensor *images = rt_view(rt, rt_rows(rt, x, 0, N / 8), RT_SHAPE(32, 64, 64, 64));
    pkb_tensor *windows = rt_new(rt, PKB_BF16, RT_SHAPE(32, 64 * 9, 64 * 64));
    const double e = (double)(N * N);
    rt_binary(rt, RT_LT, flags, x, y);
    rt_argsort(rt, index, rt_view(rt, column, 1, (const int64_t[]){N}));
    const struct job jobs[] = {
        {"copy_f32", run_copy, 8 * e, wide_out, wide, NULL, 0},
        {"fill_bf16", run_fill, 2 * e, z, NULL, NULL, 0},
        {"convert_f32_bf16", run_copy, 6 * e, z, wide, NULL, 0},
        {"square_bf16", run_unary, 4 * e, z, x, NULL, RT_SQUARE},
        {"exp_bf16", run_unary, 4 * e, z, x, NULL, RT_EXP},
        {"exp_f32", run_unary, 8 * e, wide_out, wide, NULL, RT_EXP},
        {"scale_bf16", run_scalar, 4 * e, z, x, NULL, RT_MUL},
        {"add_bf16", run_binary, 6 * e, z, x, y, RT_ADD},
        {"mul_row_bf16", run_binary, 4 * e, z, x, row, RT_MUL},
        {"mul_column_bf16_f32", run_binary, 4 * e, z, x, column, RT_MUL},
        {"sum_rows_bf16", run_reduce, 2 * e, sum, x, NULL, 1},
        {"sum_columns_bf16", run_reduce, 2 * e, sum, x, NULL, 0},
        {"transpose_bf16", run_permute, 4 * e, z, x, NULL, 0},
        {"take_rows_bf16", run_take_rows, 4 * e, z, x, index, 0},
        {"where_bf16", run_where, 7 * e, z, x, flags, 0},
        {"softmax_bf16", run_softmax, 4 * e, z, x, NULL, 0},
        {"cumsum_bf16", run_cumsum, 4 * e, z, x, NULL, 0},
        {"take_columns_bf16", run_take_columns, 4 * e, z, x, index, 0},
        {"put_rows_bf16", run_put_rows, 4 * e, z, x, index, 0},
        {"add_rows_bf16", run_add_rows, 6 * e, z, x, index, 0},
        {"im2col_3x3_bf16", run_im2col, 2 * e / 8 * 10, windows, images, NULL, 0},
        {"fft_4096_f32", run_fft, 8 * e, complex_out, complex_in, NULL, 0},
        {"argsort_8M_f32", run_argsort, 12 * (double)(N * 1024), order, flat, NULL, 0},
        {"argsort_rows_8192_f32", run_argsort, 12 * (double)(N * 1024), rt_view(rt, order, RT_SHAPE(1024, N)),
         rt_view(rt, keys, RT_SHAPE(1024, N)), NULL, 0},
        {"matmul_8192_bf16", run_matmul, 0, z, x, y, 0},
    };
    double rate = 8 * e / time_job(rt, &jobs[0]);
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        double ns = time_job(rt, &jobs[i]);
        report(&jobs[i], ns, rate);
        if (jobs[i].run == run_matmul && ns > 0)
            printf("%-34s %10.1f TFLOP/s\n", "", 2 * e * (double)N / ns * 1e-3);
    }
    rt_release_all(rt);
}

/* What launches cost where nothing is moved. */
static void tiny(struct rt *rt)
{
    pkb_tensor *x = random_matrix(rt, PKB_BF16, 1024, 1024), *y = random_matrix(rt, PKB_BF16, 1024, 1024);
    pkb_tensor *z = rt_new(rt, PKB_BF16, RT_SHAPE(1024, 1024)), *sum = rt_new(rt, PKB_F32, RT_SHAPE(1024));
    const struct job jobs[] = {
        {"1024: add_bf16", run_binary, 0, z, x, y, RT_ADD},          {"1024: sum_rows_bf16", run_reduce, 0, sum, x, NULL, 1},
        {"1024: sum_columns_bf16", run_reduce, 0, sum, x, NULL, 0},  {"1024: matmul_bf16", run_matmul, 0, z, x, y, 0},
        {"symm_barrier alone", run_barrier, 0, NULL, NULL, NULL, 0},
    };
    for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++)
        printf("%-34s %10.2f us\n", jobs[i].name, time_job(rt, &jobs[i]) * 1e-3);
    rt_release_all(rt);
}

/* Starting: the context of the process on the GPU, the library of products. */
static void first_product(struct rt *rt)
{
    struct pkb_error err;
    pkb_tensor *a = rt_new(rt, PKB_BF16, RT_SHAPE(64, 64)), *c = rt_new(rt, PKB_BF16, RT_SHAPE(64, 64));
    rt_fill(rt, a, 1);
    (void)rt_sync(rt, &err);
    int64_t start = pkb_now_ns();
    rt_matmul(rt, c, a, false, a, false);
    (void)rt_sync(rt, &err);
    printf("%-34s %10.1f ms\n", "first product", (double)(pkb_now_ns() - start) * 1e-6);
    rt_release_all(rt);
}

int main(void)
{
    struct rt_options o = {.world = 1};
    struct pkb_error err = {""};
    int64_t start = pkb_now_ns();
    struct rt *rt = rt_open("cuda", &o, &err);
    printf("%-34s %10.1f ms\n", "opening", (double)(pkb_now_ns() - start) * 1e-6);
    if (!rt || rt_events(rt, 2 * TIMED, &err)) {
        fprintf(stderr, "bench_cuda: %s\n", err.text);
        rt_close(rt);
        return 1;
    }
    printf("%s\n", rt_device_name(rt));
    first_product(rt);
    large(rt);
    tiny(rt);
    int rc = rt_sync(rt, &err);
    if (rc)
        fprintf(stderr, "bench_cuda: %s\n", err.text);
    rt_close(rt);
    for (int i = 0; i < n_ratios; i++)
        printf("RATIO cuda.%s %.3f time against a device copy of the same bytes\n", ratios[i].name, ratios[i].ratio);
    return rc ? 1 : 0;
}
