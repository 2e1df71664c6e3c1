/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cuda/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_DEFAULT 300
#define TIMEOUT_MOST (7 * 24 * 3600)

static const char *const methods[SYMM_METHODS] = {[SYMM_FD] = "fd", [SYMM_FABRIC] = "fabric", [SYMM_IPC] = "ipc"};

const char *symm_method_name(int method)
{
    return method >= 0 && method < SYMM_METHODS ? methods[method] : "?";
}

/* Unset and empty are the same. */
static const char *value_of(settings_get_fn *get, const char *name)
{
    const char *value = get(name);
    return value && value[0] ? value : NULL;
}

static int read_comm(struct cuda_settings *s, const char *value, struct pkb_error *err)
{
    s->staged = value && strcmp(value, "staged") == 0;
    if (value && !s->staged && strcmp(value, "nccl") != 0)
        return pkb_error_set(err, "PKB_COMM=%s: expected nccl or staged", value);
    return 0;
}

static int read_timeout(struct cuda_settings *s, const char *value, struct pkb_error *err)
{
    long seconds = TIMEOUT_DEFAULT;
    if (value) {
        char *end;
        errno = 0;
        seconds = strtol(value, &end, 10);
        if (errno || *end != '\0' || seconds < 1 || seconds > TIMEOUT_MOST)
            return pkb_error_set(err, "PKB_COMM_TIMEOUT=%s: expected seconds, 1 to %d", value, TIMEOUT_MOST);
    }
    s->timeout_ns = (int64_t)seconds * 1000000000;
    return 0;
}

static int read_symm(struct cuda_settings *s, const char *value, struct pkb_error *err)
{
    s->symm = -1;
    for (int i = 0; value && i < SYMM_METHODS; i++) {
        if (strcmp(value, methods[i]) == 0)
            s->symm = i;
    }
    if (value && s->symm < 0)
        return pkb_error_set(err, "PKB_SYMM=%s: expected fd, fabric or ipc", value);
    return 0;
}

static int read_multicast(struct cuda_settings *s, const char *own, const char *nccl, struct pkb_error *err)
{
    if (own && strcmp(own, "0") != 0 && strcmp(own, "1") != 0)
        return pkb_error_set(err, "PKB_NVLS=%s: expected 0 or 1", own);
    s->multicast = own && own[0] == '1' && !(nccl && strcmp(nccl, "0") == 0);
    s->forbid_nvls = own && own[0] == '0';
    return 0;
}

int cuda_settings_read(struct cuda_settings *s, settings_get_fn *get, struct pkb_error *err)
{
    *s = (struct cuda_settings){0};
    if (read_comm(s, value_of(get, "PKB_COMM"), err) || read_timeout(s, value_of(get, "PKB_COMM_TIMEOUT"), err) ||
        read_symm(s, value_of(get, "PKB_SYMM"), err))
        return -1;
    return read_multicast(s, value_of(get, "PKB_NVLS"), value_of(get, "NCCL_NVLS_ENABLE"), err);
}
