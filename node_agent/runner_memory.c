/* SPDX-License-Identifier: Apache-2.0 */
/* Notices that an allocation of the process was refused, so that what follows (a crash, a failure) can be told from other
 * crashes and failures. The allocation functions are replaced by ones that pass everything on to the C library. */
#include "config.h"

#include "node_agent/runner.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct runner_status *watched;

void runner_memory_watch(struct runner_status *status)
{
    watched = status;
}

#if defined(__GLIBC__) && !PKB_SANITIZERS && defined(__LP64__)

#define REPLACED __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

/* Declared here as well: the headers' declarations carry attributes that differ between releases. */
REPLACED void *malloc(size_t size);
REPLACED void *calloc(size_t n, size_t size);
REPLACED void *realloc(void *p, size_t size);
REPLACED void *memalign(size_t alignment, size_t size);
REPLACED void *aligned_alloc(size_t alignment, size_t size);
REPLACED int posix_memalign(void **p, size_t alignment, size_t size);
REPLACED void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
REPLACED void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset);

/* Libraries of the device may try something large and do with less; only the candidate's own allocations count. */
static void note_refused(void)
{
    if (!watched)
        return;
    uint32_t stage = atomic_load_explicit(&watched->stage, memory_order_relaxed);
    if (stage == STAGE_SETUP || stage == STAGE_SOLUTION || stage == STAGE_ALLOC)
        atomic_store_explicit(&watched->alloc_refused, 1, memory_order_relaxed);
}

static void *noted(void *p, size_t size)
{
    if (!p && size)
        note_refused();
    return p;
}

void *malloc(size_t size)
{
    return noted(__libc_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
    return noted(__libc_calloc(n, size), n && size);
}

void *realloc(void *p, size_t size)
{
    return noted(__libc_realloc(p, size), size);
}

void *memalign(size_t alignment, size_t size)
{
    return noted(__libc_memalign(alignment, size), size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    return noted(__libc_memalign(alignment, size), size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
    int saved = errno;
    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    void *got = noted(__libc_memalign(alignment, size), size);
    errno = saved;
    if (!got)
        return ENOMEM;
    *p = got;
    return 0;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    long p = syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    /* Huge pages are asked for by guess and are rarely there. */
    if (p == -1 && errno == ENOMEM && !(flags & MAP_HUGETLB))
        note_refused();
    return (void *)p;
}

void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}

#elif PKB_SANITIZERS

/* Crashes and exits of a candidate must stay what they are. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:handle_abort=0:allocator_may_return_null=1:detect_"
           "leaks=0";
}

#endif
