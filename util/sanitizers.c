/* SPDX-License-Identifier: Apache-2.0 */
/* What the leak sanitizer is told by programs that use PMIx: the library keeps what it has allocated once, which is not our
 * leak. To be listed among a program's own sources, where the sanitizer finds it. Empty without sanitizers. */
#include "config.h"

#if PKB_SANITIZERS
#define EXPORTED __attribute__((visibility("default")))

EXPORTED const char *__lsan_default_suppressions(void);
EXPORTED const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:libpmix.so\nleak:libevent";
}

const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}
#else
extern int pkb_no_sanitizers; /* ISO C wants a file to have something in it */
#endif
