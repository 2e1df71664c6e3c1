/* SPDX-License-Identifier: Apache-2.0 */
/* pkb-gpu-test [GROUP...]: tests of the CUDA backend; without arguments all groups. Ends with `N passed, N failed`. Exits with 0 when
 * none failed. */
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/random.h"
#include "tests/gpu/gpu.h"
#include "util/clock.h"

/* Seconds that a world may take. */
#define TIME_LIMIT 150

struct tally {
    _Atomic int passed, failed;
};

static struct tally *tally; /* shared by all processes */

void gpu_check(bool ok, const char *fmt, ...)
{
    va_list ap;
    char text[2048];
    atomic_fetch_add(ok ? &tally->passed : &tally->failed, 1);
    if (ok)
        return;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("FAILED %s\n", text);
    (void)fflush(stdout);
}

/* ---- worlds -------------------------------------------------------------------------------------------------------- */

int gpu_open_pair(const struct rt_options *o, struct gpu_pair *pair, struct pkb_error *err)
{
    *pair = (struct gpu_pair){NULL, NULL};
    pair->host = rt_open("host", o, err);
    pair->cuda = pair->host ? rt_open("cuda", o, err) : NULL;
    return pair->cuda ? 0 : -1;
}

void gpu_close_pair(struct gpu_pair *pair)
{
    rt_close(pair->cuda);
    rt_close(pair->host);
}

void gpu_world(const char *name, int world, const char *comm, world_raw_fn *fn, void *arg)
{
    static struct world_rank ranks[WORLD_MAX];
    struct world_spec spec = {.world = world, .seconds = TIME_LIMIT, .raw = fn, .arg = arg};
    struct pkb_error err = {""};
    int64_t start = pkb_now_ns();
    int failed = -1;
    if (setenv("PKB_COMM", comm, 1) || world_run_each(&spec, ranks, &err)) {
        gpu_check(false, "%s: %s", name, err.text);
        return;
    }
    for (int i = 0; i < world; i++) {
        if (ranks[i].rc && (failed < 0 || ranks[i].end == WORLD_DIED))
            failed = i;
    }
    gpu_check(failed < 0, "%s on %d ranks: rank %d: %s", name, world, failed, failed < 0 ? "" : ranks[failed].text);
    printf("%-32s world %d, %-6s %6.2f s\n", name, world, comm, (double)(pkb_now_ns() - start) * 1e-9);
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

static void fill_bits(void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(uint16_t); i++) {
        uint16_t bits = (uint16_t)(i * 40503u); /* odd: 65536 in a row are all different */
        memcpy((char *)data + i * sizeof(bits), &bits, sizeof(bits));
    }
}

void gpu_values(void *data, int dtype, int64_t n, enum gpu_values kind, uint32_t stream)
{
    if (kind == VALUES_BITS) {
        fill_bits(data, (size_t)n * dtype_size(dtype) + 1);
        return;
    }
    struct rng r = rng_make(999, 1, 0, stream, (uint32_t)kind);
    if (kind == VALUES_EXACT || !dtype_is_float(dtype))
        rng_fill_integers(&r, dtype, data, (size_t)n, dtype == PKB_BOOL || kind == VALUES_POSITIVE ? 0 : -3,
                          dtype == PKB_BOOL ? 2 : 4);
    else
        rng_fill_uniform(&r, dtype, data, (size_t)n, kind == VALUES_POSITIVE ? 0.25 : -2, 2);
}

static bool close_enough(double a, double b, struct gpu_tolerance t)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= t.absolute + t.relative * fabs(b);
}

void gpu_compare(const char *what, int dtype, int64_t n, const void *a, const void *b, struct gpu_tolerance tolerance)
{
    size_t size = dtype_size(dtype);
    int64_t wrong = 0, first = -1;
    double x = 0, y = 0;
    for (int64_t i = 0; i < n; i++) {
        const char *at = (const char *)a + (size_t)i * size, *bt = (const char *)b + (size_t)i * size;
        if (memcmp(at, bt, size) == 0)
            continue;
        dtype_to_f64(dtype, &x, at, 1);
        dtype_to_f64(dtype, &y, bt, 1);
        if ((tolerance.relative > 0 || tolerance.absolute > 0 || (isnan(x) && isnan(y))) && close_enough(x, y, tolerance))
            continue;
        first = first < 0 ? i : first;
        wrong++;
    }
    if (first >= 0) {
        dtype_to_f64(dtype, &x, (const char *)a + (size_t)first * size, 1);
        dtype_to_f64(dtype, &y, (const char *)b + (size_t)first * size, 1);
    }
    gpu_check(wrong == 0, "%s: %lld of %lld elements (%s) differ, first [%lld]: %.9g, host %.9g", what, (long long)wrong,
              (long long)n, dtype_name(dtype), (long long)first, x, y);
}

/* ---- groups -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
    bool part; /* of another one: runs only where it is named */
} groups[] = {
    {"operations", test_operations, false}, {"nccl", test_nccl_alone, false},         {"symmetric", test_symmetric, false},
    {"failures", test_failures, false},     {"collectives", test_collectives, false}, {"references", test_references, false},
    {"kernels", test_kernels, true},        {"illegal", test_illegal, true},
};

int main(int argc, char **argv)
{
    size_t n = sizeof(groups) / sizeof(groups[0]);
    int ran = 0;
    tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED) {
        perror("pkb-gpu-test");
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < n; i++) {
        bool wanted = argc < 2 && !groups[i].part;
        for (int k = 1; k < argc; k++)
            wanted = wanted || strcmp(argv[k], groups[i].name) == 0;
        if (wanted) {
            groups[i].run();
            ran++;
        }
    }
    if (ran == 0) {
        fprintf(stderr, "usage: pkb-gpu-test [operations|collectives|nccl|symmetric|failures|references|kernels|illegal]...\n");
        return 2;
    }
    printf("%d passed, %d failed\n", tally->passed, tally->failed);
    return tally->failed ? 1 : 0;
}
