/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/measure.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "config.h"
#include "runtime/host/blas.h"
#include "runtime/module.h"
#include "util/clock.h"

#define LARGEST_COPY ((size_t)128 << 20) /* bytes of each of source and destination */
#define SMALLEST_COPY ((size_t)16 << 20)
#define COPY_TRIES 3
#define PRODUCT 384 /* rows, columns and depth of the products */
#define FLOPS_TRIES 3
#define LINK_BYTES ((size_t)1 << 20)
#define LINK_TRIES 32
#define PINGS 256

static void *map(size_t size, struct pkb_error *err)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        (void)pkb_error_errno(err, "%zu bytes of memory", size);
        return NULL;
    }
    return p;
}

static void unmap(void *p, size_t size)
{
    if (p)
        (void)munmap(p, size);
}

/* Keeps the compiler from leaving out work whose result nobody reads. */
static void keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

int measure_memory(int64_t cache_bytes, double *gb_s, struct pkb_error *err)
{
    size_t size = cache_bytes > (int64_t)LARGEST_COPY ? LARGEST_COPY : (size_t)cache_bytes;
    if (size < SMALLEST_COPY)
        size = SMALLEST_COPY;
    char *from = map(size, err), *to = from ? map(size, err) : NULL;
    int64_t best = INT64_MAX;
    if (to) {
        memset(from, 1, size);
        memset(to, 2, size);
        for (int i = 0; i < COPY_TRIES; i++) {
            int64_t start = pkb_now_ns();
            memcpy(to, from, size);
            keep(to);
            int64_t took = pkb_now_ns() - start;
            best = took < best ? took : best;
        }
    }
    bool done = to != NULL;
    unmap(from, size);
    unmap(to, size);
    *gb_s = 2.0 * (double)size / (double)(best > 0 ? best : 1);
    return done ? 0 : -1;
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------- */

static double tflops(double operations, int64_t ns)
{
    return operations / (double)(ns > 0 ? ns : 1) / 1e3;
}

static void best_products(const struct host_blas *blas, double *values, double *f32, double *f64)
{
    const double operations = 2.0 * PRODUCT * PRODUCT * PRODUCT;
    const size_t n = (size_t)PRODUCT * PRODUCT;
    const float *single = (const float *)values;
    blas->start();
    for (int i = 0; i < FLOPS_TRIES; i++) {
        int64_t start = pkb_now_ns();
        blas->sgemm(false, false, PRODUCT, PRODUCT, PRODUCT, single, single + n, (float *)(values + 2 * n));
        int64_t middle = pkb_now_ns();
        blas->dgemm(false, false, PRODUCT, PRODUCT, PRODUCT, values, values + n, values + 2 * n);
        int64_t end = pkb_now_ns();
        *f32 = larger(*f32, tflops(operations, middle - start));
        *f64 = larger(*f64, tflops(operations, end - middle));
    }
}

/* Multiply-adds on independent vectors of 64 bytes, as many as hide the latency of the units: what the best kernel for this core could
 * reach. OpenBLAS may not know the core and fall back to old instructions. */
#if defined(__x86_64__) && !PKB_SANITIZERS
#define FOR_EACH_CORE __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define FOR_EACH_CORE
#endif
#define CHAINS 10
#define CHAIN_STEPS 100000

#define MULTIPLY_ADD(name, type)                                                                                                 \
    typedef type name##_vector __attribute__((vector_size(64)));                                                                 \
    FOR_EACH_CORE static void name(const name##_vector *in, name##_vector *out)                                                  \
    {                                                                                                                            \
        const name##_vector a = in[0], b = in[1];                                                                                \
        name##_vector c0 = a, c1 = a, c2 = a, c3 = a, c4 = a, c5 = a, c6 = a, c7 = a, c8 = a, c9 = a;                            \
        for (int i = 0; i < CHAIN_STEPS; i++) {                                                                                  \
            c0 = c0 * a + b, c1 = c1 * a + b, c2 = c2 * a + b, c3 = c3 * a + b, c4 = c4 * a + b;                                 \
            c5 = c5 * a + b, c6 = c6 * a + b, c7 = c7 * a + b, c8 = c8 * a + b, c9 = c9 * a + b;                                 \
        }                                                                                                                        \
        *out = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9;                                                                  \
    }

MULTIPLY_ADD(chains_f32, float)
MULTIPLY_ADD(chains_f64, double)

static void best_chains(double *f32, double *f64)
{
    const double steps = 2.0 * CHAINS * CHAIN_STEPS;
    chains_f32_vector single[3] = {{0}};
    chains_f64_vector twice[3] = {{0}};
    for (int i = 0; i < FLOPS_TRIES; i++) {
        int64_t start = pkb_now_ns();
        chains_f32(single, single + 2);
        keep(single);
        int64_t middle = pkb_now_ns();
        chains_f64(twice, twice + 2);
        keep(twice);
        int64_t end = pkb_now_ns();
        *f32 = larger(*f32, tflops(steps * 16, middle - start));
        *f64 = larger(*f64, tflops(steps * 8, end - middle));
    }
}

int measure_flops(double *f32, double *f64, struct pkb_error *err)
{
    const struct host_blas *blas = rt_module(HOST_BLAS_MODULE, HOST_BLAS_SYMBOL, NULL);
    *f32 = *f64 = 0;
    best_chains(f32, f64);
    if (!blas)
        return 0;
    double *values = calloc((size_t)3 * PRODUCT * PRODUCT, sizeof(*values));
    if (!values)
        return pkb_error_set(err, "out of memory");
    best_products(blas, values, f32, f64);
    free(values);
    return 0;
}

/* ---- shared memory ------------------------------------------------------------------------------------------------- */

/* Two threads take turns: `turn` counts up, the reader moves on even numbers, the writer on odd ones. */
struct link {
    _Atomic int turn;
    char *block;
};

static void wait_for(struct link *l, int turn)
{
    for (int spins = 0; atomic_load_explicit(&l->turn, memory_order_acquire) < turn; spins++)
        if (spins > 1000) /* the other thread may share this core */
            (void)sched_yield();
}

static void *writer(void *arg)
{
    struct link *l = arg;
    int turn = 1;
    for (int i = 0; i < LINK_TRIES; i++, turn += 2) {
        wait_for(l, turn);
        memset(l->block, i, LINK_BYTES);
        atomic_store_explicit(&l->turn, turn + 1, memory_order_release);
    }
    for (int i = 0; i < PINGS; i++, turn += 2) {
        wait_for(l, turn);
        atomic_store_explicit(&l->turn, turn + 1, memory_order_release);
    }
    return NULL;
}

static void reader(struct link *l, char *copy, int64_t *best_copy, int64_t *best_ping)
{
    int turn = 0;
    for (int i = 0; i < LINK_TRIES; i++, turn += 2) {
        atomic_store_explicit(&l->turn, turn + 1, memory_order_release);
        wait_for(l, turn + 2);
        int64_t start = pkb_now_ns();
        memcpy(copy, l->block, LINK_BYTES);
        keep(copy);
        int64_t took = pkb_now_ns() - start;
        *best_copy = took < *best_copy ? took : *best_copy;
    }
    for (int i = 0; i < PINGS; i++, turn += 2) {
        int64_t start = pkb_now_ns();
        atomic_store_explicit(&l->turn, turn + 1, memory_order_release);
        wait_for(l, turn + 2);
        int64_t took = pkb_now_ns() - start;
        *best_ping = took < *best_ping ? took : *best_ping;
    }
}

static int run_link(struct link *l, char *copy, int64_t *best_copy, int64_t *best_ping, struct pkb_error *err)
{
    pthread_t thread;
    memset(copy, 0, LINK_BYTES);
    int rc = pthread_create(&thread, NULL, writer, l);
    if (rc != 0)
        return pkb_error_set(err, "a thread cannot be started: %s", strerror(rc));
    reader(l, copy, best_copy, best_ping);
    (void)pthread_join(thread, NULL);
    return 0;
}

int measure_link(double *gb_s, double *latency_us, struct pkb_error *err)
{
    struct link l = {0};
    int64_t copy_ns = INT64_MAX, ping_ns = INT64_MAX;
    l.block = map(LINK_BYTES, err);
    char *copy = l.block ? map(LINK_BYTES, err) : NULL;
    int rc = copy ? run_link(&l, copy, &copy_ns, &ping_ns, err) : -1;
    unmap(l.block, LINK_BYTES);
    unmap(copy, LINK_BYTES);
    *gb_s = (double)LINK_BYTES / (double)(copy_ns > 0 ? copy_ns : 1);
    *latency_us = (double)(ping_ns > 2 ? ping_ns : 2) / 2e3;
    return rc;
}
