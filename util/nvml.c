/* SPDX-License-Identifier: Apache-2.0 */
#include "util/nvml.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

static const struct {
    const char *name;
    size_t place; /* in struct nvml */
    int needed;
} symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init), 1},
    {"nvmlShutdown", offsetof(struct nvml, shutdown), 1},
    {"nvmlErrorString", offsetof(struct nvml, error_string), 1},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, device_count), 1},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, device_by_index), 1},
    {"nvmlDeviceGetHandleByUUID", offsetof(struct nvml, device_by_uuid), 1},
    {"nvmlDeviceGetUUID", offsetof(struct nvml, device_uuid), 1},
    {"nvmlDeviceGetName", offsetof(struct nvml, device_name), 1},
    {"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability), 1},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory), 0},
    {"nvmlDeviceGetClockInfo", offsetof(struct nvml, clock), 0},
    {"nvmlDeviceGetMaxClockInfo", offsetof(struct nvml, max_clock), 0},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml, throttle_reasons), 0},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature), 0},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power), 0},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, ecc_errors), 0},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml, processes), 0},
    {"nvmlEventSetCreate", offsetof(struct nvml, events_create), 0},
    {"nvmlEventSetFree", offsetof(struct nvml, events_free), 0},
    {"nvmlDeviceRegisterEvents", offsetof(struct nvml, events_register), 0},
    {"nvmlEventSetWait_v2", offsetof(struct nvml, events_wait), 0},
};

static int find_symbols(struct nvml *n, struct pkb_error *err)
{
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(n->library, symbols[i].name);
        if (!symbol && symbols[i].needed)
            return pkb_error_set(err, "%s is missing", symbols[i].name);
        memcpy((char *)n + symbols[i].place, &symbol, sizeof(symbol));
    }
    return 0;
}

struct nvml *nvml_open(const char *path, struct pkb_error *err)
{
    struct nvml *n = calloc(1, sizeof(*n));
    if (!n) {
        pkb_error_errno(err, "NVML");
        return NULL;
    }
    n->library = dlopen(path ? path : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int rc = n->library ? find_symbols(n, err) : pkb_error_set(err, "%s", dlerror());
    if (rc == 0) {
        rc = n->init();
        if (rc == NVML_OK)
            return n;
        pkb_error_set(err, "%s", n->error_string(rc));
    }
    pkb_error_prefix(err, "NVML");
    if (n->library)
        (void)dlclose(n->library);
    free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    int saved = errno;
    (void)n->shutdown();
    (void)dlclose(n->library);
    free(n);
    errno = saved;
}
