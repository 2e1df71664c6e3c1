/* SPDX-License-Identifier: Apache-2.0 */
#include "util/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the oldest kernel headers that pkb is compiled with. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* from version 3 on */
#endif
#define SCOPE_SIGNAL (1ULL << 1) /* LANDLOCK_SCOPE_SIGNAL, from version 6 on */

/* struct landlock_ruleset_attr of version 6; older kernels take a beginning of it. */
struct ruleset {
    uint64_t files, network, scope;
};

#define DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define CHANGES                                                                                                                  \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                            \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_SYM | DEVICES)

int confine_version(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

/* What a version can forbid. */
static struct ruleset forbidden(int version, size_t *size)
{
    struct ruleset r = {.files = CHANGES};
    if (version >= 2)
        r.files |= LANDLOCK_ACCESS_FS_REFER;
    if (version >= 3)
        r.files |= LANDLOCK_ACCESS_FS_TRUNCATE;
    if (version >= 6)
        r.scope = SCOPE_SIGNAL;
    *size = version >= 6 ? sizeof(r) : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    return r;
}

static int allow(int ruleset, const char *folder, uint64_t rights, struct pkb_error *err)
{
    struct landlock_path_beneath_attr beneath = {.allowed_access = rights,
                                                 .parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (beneath.parent_fd < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : pkb_error_errno(err, "%s", folder);
    long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    if (rc < 0)
        pkb_error_errno(err, "Landlock: %s", folder);
    (void)close(beneath.parent_fd);
    return rc < 0 ? -1 : 0;
}

static int allow_all(int ruleset, uint64_t changes, const char *const *folders, size_t n, struct pkb_error *err)
{
    if (allow(ruleset, "/dev", changes & (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE), err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (allow(ruleset, folders[i], changes & ~DEVICES, err) < 0)
            return -1;
    return 0;
}

int confine_process(const char *const *folders, size_t n, struct pkb_error *err)
{
    size_t size;
    int version = confine_version();
    const struct ruleset r = forbidden(version, &size);
    if (version == 0)
        return 1;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
    if (ruleset < 0)
        return pkb_error_errno(err, "Landlock");
    int rc = allow_all(ruleset, r.files, folders, n, err);
    if (rc == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        rc = pkb_error_errno(err, "no_new_privs");
    if (rc == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        rc = pkb_error_errno(err, "Landlock");
    (void)close(ruleset);
    return rc;
}
