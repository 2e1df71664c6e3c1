/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 2000
#define SPINS_PER_YIELD 50
#define YIELDS 20

/* ---- objects ------------------------------------------------------------------------------------------------------- */

static int map(int fd, size_t bytes, void **address)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return -1;
    *address = p;
    return 0;
}

/* posix_fallocate alone would do, but some file systems emulate it by writing. */
static int reserve(int fd, size_t bytes)
{
    int rc;
    if (bytes > (size_t)LLONG_MAX) {
        errno = EFBIG;
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes))
        return -1;
    do
        rc = posix_fallocate(fd, 0, (off_t)bytes);
    while (rc == EINTR);
    errno = rc;
    return rc ? -1 : 0;
}

int shared_create(const char *name, size_t bytes, void **address, struct pkb_error *err)
{
    int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
    int fd = shm_open(name, flags, 0600);
    if (fd < 0 && errno == EEXIST) {
        (void)shm_unlink(name);
        fd = shm_open(name, flags, 0600);
    }
    if (fd < 0)
        return pkb_error_errno(err, "shared memory %s", name);
    if (reserve(fd, bytes) || map(fd, bytes, address)) {
        (void)pkb_error_errno(err, "shared memory %s", name);
        (void)close(fd);
        (void)shm_unlink(name);
        return -1;
    }
    (void)close(fd);
    return 0;
}

int shared_map(const char *name, size_t bytes, void **address, struct pkb_error *err)
{
    struct stat st;
    int fd = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return pkb_error_errno(err, "shared memory %s", name);
    int rc = 0;
    if (fstat(fd, &st))
        rc = pkb_error_errno(err, "shared memory %s", name);
    else if (st.st_size < 0 || (size_t)st.st_size < bytes)
        rc = pkb_error_set(err, "shared memory %s is too small", name);
    else if (map(fd, bytes, address))
        rc = pkb_error_errno(err, "shared memory %s", name);
    (void)close(fd);
    return rc;
}

void shared_unmap(void *address, size_t bytes)
{
    if (address)
        (void)munmap(address, bytes);
}

void shared_unlink(const char *name)
{
    (void)shm_unlink(name);
}

/* ---- barrier ------------------------------------------------------------------------------------------------------- */

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value)
{
    return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

/* CPUs that this process may use. */
static uint32_t usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    return (uint32_t)CPU_COUNT(&set);
}

/* Until the generation moves on, without a system call that sleeps. */
static int wait_awake(struct shared_barrier *b, uint32_t generation, uint32_t members)
{
    int spins = usable_cpus() >= members ? SPINS : 0;
    for (int i = 0; i < spins; i++) {
        if (atomic_load_explicit(&b->generation, memory_order_acquire) != generation)
            return 1;
        pause_cpu();
        /* A member may share this CPU although there are enough: others use them too. */
        if (i % SPINS_PER_YIELD == SPINS_PER_YIELD - 1)
            (void)sched_yield();
    }
    for (int i = 0; i < YIELDS; i++) {
        if (atomic_load_explicit(&b->generation, memory_order_acquire) != generation)
            return 1;
        (void)sched_yield();
    }
    return 0;
}

void shared_barrier_wait(struct shared_barrier *b, uint32_t members)
{
    uint32_t generation = atomic_load(&b->generation);
    if (atomic_fetch_add(&b->arrived, 1) + 1 == members) {
        atomic_store(&b->arrived, 0);
        atomic_fetch_add(&b->generation, 1);
        if (atomic_load(&b->sleepers) > 0)
            (void)futex(&b->generation, FUTEX_WAKE, INT_MAX);
        return;
    }
    if (wait_awake(b, generation, members))
        return;
    atomic_fetch_add(&b->sleepers, 1);
    while (atomic_load(&b->generation) == generation)
        (void)futex(&b->generation, FUTEX_WAIT, generation); /* returns at once when it has moved on */
    atomic_fetch_sub(&b->sleepers, 1);
}
