/* SPDX-License-Identifier: Apache-2.0 */
/* The peer of bench/cell_overhead: what a script does that is started anew for every trial by `mpirun -n W` (or torchrun). Joins its
 * world through PMIx, loads the candidate, makes symmetric memory, runs the solution of problem 01 once on a tiny matrix and leaves.
 *
 *     relaunch_trial OBJECT.so */
#define PKB_NO_EXPORTS
#include <dlfcn.h>
#include <fcntl.h>
#include <pkb/candidate.h>
#include <pmix.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_RANKS 64
#define ROWS 24
#define COLUMNS 72
#define BLOCK (1 << 20) /* bytes of symmetric memory of a rank */

typedef int setup_fn(const pkb_context *, const pkb_tensor *, const pkb_tensor *);
typedef int solution_fn(const pkb_context *, const pkb_tensor *, pkb_tensor *);

static struct arena {
    _Atomic uint32_t arrived;
    char blocks[] __attribute__((aligned(4096)));
} * arena;
static uint32_t barriers;
static void *peers[MAX_RANKS];

static void stop(const char *what)
{
    (void)fprintf(stderr, "relaunch_trial: %s failed\n", what);
    exit(1);
}

static void fence(const pmix_proc_t *self)
{
    pmix_info_t info;
    pmix_proc_t all;
    bool yes = true;
    PMIX_LOAD_PROCID(&all, self->nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if (PMIx_Fence(&all, 1, &info, 1) != PMIX_SUCCESS)
        stop("PMIx_Fence");
}

static int world_size(const pmix_proc_t *self)
{
    pmix_proc_t all;
    pmix_value_t *value = NULL;
    PMIX_LOAD_PROCID(&all, self->nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value) != PMIX_SUCCESS || value->data.uint32 > MAX_RANKS)
        stop("PMIx_Get of the job size");
    int size = (int)value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return size;
}

static void map_arena(const char *name, int world)
{
    size_t size = sizeof(*arena) + (size_t)world * BLOCK;
    int fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        stop("shm_open");
    arena = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (arena == MAP_FAILED || close(fd) != 0)
        stop("mmap");
}

static int barrier(const pkb_context *ctx)
{
    uint32_t target = ++barriers * (uint32_t)ctx->world;
    atomic_fetch_add(&arena->arrived, 1);
    while (atomic_load(&arena->arrived) < target)
        sched_yield();
    return 0;
}

static int symm_alloc(const pkb_context *ctx, size_t bytes, pkb_symm *symm)
{
    for (int q = 0; q < ctx->world; q++)
        peers[q] = arena->blocks + (size_t)q * BLOCK;
    *symm = (pkb_symm){.size = bytes, .local = peers[ctx->rank], .peers = peers};
    return bytes <= BLOCK ? 0 : -1;
}

static void run_trial(const pkb_context *ctx, const char *object)
{
    static uint16_t x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    pkb_tensor in = {.data = x, .dtype = PKB_BF16, .ndim = 2, .shape = {ROWS, COLUMNS}}, out = in;
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        stop(dlerror());
    setup_fn *setup = (setup_fn *)(uintptr_t)dlsym(handle, "pkb_setup");
    solution_fn *solution = (solution_fn *)(uintptr_t)dlsym(handle, "pkb_solution");
    out.data = y;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (uint16_t)(0x3f80 + i % 64);
    if (!solution || (setup && setup(ctx, &in, &out) != 0) || solution(ctx, &in, &out) != 0)
        stop("the candidate");
    if (ctx->world > 1 && y[0] == x[0])
        stop("the sum");
}

int main(int argc, char **argv)
{
    pmix_proc_t self;
    char name[300];
    if (argc != 2)
        stop("usage: relaunch_trial OBJECT.so:");
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        stop("PMIx_Init");
    int world = world_size(&self);
    (void)snprintf(name, sizeof(name), "/pkb-relaunch.%s", self.nspace);
    for (char *c = name + 1; *c; c++)
        *c = (char)(*c == '/' ? '_' : *c);
    map_arena(name, world);
    fence(&self);
    if (self.rank == 0)
        (void)shm_unlink(name);
    pkb_context ctx = {.abi_version = PKB_ABI_VERSION,
                       .size = sizeof(ctx),
                       .rank = (int32_t)self.rank,
                       .world = world,
                       .local_rank = (int32_t)self.rank,
                       .local_world = world,
                       .nodes = 1,
                       .device = -1,
                       .n_in = 1,
                       .n_out = 1,
                       .symm_alloc = symm_alloc,
                       .barrier = barrier};
    run_trial(&ctx, argv[1]);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
