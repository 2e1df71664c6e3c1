/* SPDX-License-Identifier: Apache-2.0 */
/* What sanitizers are told: more memory than there can be is refused, as malloc does it; and what PMIx and Slurm keep, which they have
 * allocated once, and libslurm the answer to a refused submission, are not our leaks. To be listed among a program's own sources, where
 * the sanitizer finds it. Empty without sanitizers. */
#include "config.h"

#if PKB_SANITIZERS
#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__lsan_default_suppressions(void);
EXPORTED const char *__lsan_default_options(void);

const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix.so\nleak:libevent\nleak:libslurm.so";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#else
extern int pkb_no_sanitizers; /* ISO C wants a file to have something in it */
#endif
