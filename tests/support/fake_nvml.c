/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_nvml.h"

#include <stdio.h>
#include <string.h>

#include "util/nvml.h"

#define EXPORT __attribute__((visibility("default")))

extern struct fake_nvml fake_nvml;
EXPORT struct fake_nvml fake_nvml;

/* The library's own names. */
EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int result);
EXPORT int nvmlDeviceGetCount_v2(unsigned *n);
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *d);
EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *d);
EXPORT int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size);
EXPORT int nvmlDeviceGetName(nvml_device d, char *text, unsigned size);
EXPORT int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor);
EXPORT int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *m);
EXPORT int nvmlDeviceGetClockInfo(nvml_device d, int which, unsigned *mhz);
EXPORT int nvmlDeviceGetMaxClockInfo(nvml_device d, int which, unsigned *mhz);
EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *bits);
EXPORT int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *celsius);
EXPORT int nvmlDeviceGetPowerUsage(nvml_device d, unsigned *milliwatts);
EXPORT int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int counter, unsigned long long *n);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *n, struct nvml_process *list);
EXPORT int nvmlEventSetCreate(nvml_events *set);
EXPORT int nvmlEventSetFree(nvml_events set);
EXPORT int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_events set);
EXPORT int nvmlEventSetWait_v2(nvml_events set, struct nvml_event *e, unsigned timeout_ms);

static struct fake_gpu *gpu_of(nvml_device d)
{
    return (struct fake_gpu *)d;
}

int nvmlInit_v2(void)
{
    fake_nvml.open += fake_nvml.init_result == 0;
    return fake_nvml.init_result;
}

int nvmlShutdown(void)
{
    fake_nvml.open--;
    return 0;
}

const char *nvmlErrorString(int result)
{
    return result == NVML_LOST ? "GPU is lost" : result == NVML_NOT_SUPPORTED ? "Not Supported" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = fake_nvml.n;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *d)
{
    *d = (nvml_device)(void *)&fake_nvml.gpu[index];
    return index < fake_nvml.n ? 0 : 2;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *d)
{
    *d = (nvml_device)(void *)&fake_nvml.gpu[0];
    return strcmp(uuid, "MIG-1234") == 0 ? 0 : 2;
}

int nvmlDeviceGetUUID(nvml_device d, char *text, unsigned size)
{
    (void)snprintf(text, size, "%s", gpu_of(d)->uuid);
    return 0;
}

int nvmlDeviceGetName(nvml_device d, char *text, unsigned size)
{
    (void)snprintf(text, size, "Fake %d", gpu_of(d)->capability);
    return gpu_of(d)->result;
}

int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor)
{
    *major = gpu_of(d)->capability / 10;
    *minor = gpu_of(d)->capability % 10;
    return gpu_of(d)->result;
}

int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *m)
{
    *m = (struct nvml_memory){.total = 1ULL << 40, .used = gpu_of(d)->memory_used};
    return gpu_of(d)->result;
}

int nvmlDeviceGetClockInfo(nvml_device d, int which, unsigned *mhz)
{
    *mhz = gpu_of(d)->clock + (unsigned)which;
    return gpu_of(d)->result;
}

int nvmlDeviceGetMaxClockInfo(nvml_device d, int which, unsigned *mhz)
{
    *mhz = 2000 + (unsigned)which;
    return gpu_of(d)->result;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *bits)
{
    *bits = gpu_of(d)->throttle;
    return gpu_of(d)->unsupported ? NVML_NOT_SUPPORTED : gpu_of(d)->result;
}

int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *celsius)
{
    (void)sensor;
    *celsius = gpu_of(d)->temperature;
    return gpu_of(d)->result;
}

int nvmlDeviceGetPowerUsage(nvml_device d, unsigned *milliwatts)
{
    *milliwatts = gpu_of(d)->power;
    return gpu_of(d)->result;
}

int nvmlDeviceGetTotalEccErrors(nvml_device d, int type, int counter, unsigned long long *n)
{
    *n = type == NVML_ECC_UNCORRECTED && counter == NVML_ECC_SINCE_LOAD ? gpu_of(d)->uncorrected : 12345;
    return gpu_of(d)->unsupported ? NVML_NOT_SUPPORTED : gpu_of(d)->result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *n, struct nvml_process *list)
{
    unsigned room = *n;
    *n = gpu_of(d)->n_processes;
    if (room < *n)
        return NVML_TOO_SMALL;
    for (unsigned i = 0; i < *n; i++)
        list[i] = (struct nvml_process){.pid = gpu_of(d)->pids[i]};
    return gpu_of(d)->result;
}

int nvmlEventSetCreate(nvml_events *set)
{
    static int any;
    *set = (nvml_events)(void *)&any;
    return 0;
}

int nvmlEventSetFree(nvml_events set)
{
    (void)set;
    return 0;
}

int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, nvml_events set)
{
    (void)d;
    (void)set;
    return types == NVML_EVENT_XID ? 0 : 2;
}

int nvmlEventSetWait_v2(nvml_events set, struct nvml_event *e, unsigned timeout_ms)
{
    (void)set;
    (void)timeout_ms;
    for (unsigned i = 0; i < fake_nvml.n; i++) {
        struct fake_gpu *g = &fake_nvml.gpu[i];
        if (g->n_xids == 0)
            continue;
        *e = (struct nvml_event){.device = (nvml_device)(void *)g, .type = NVML_EVENT_XID, .data = g->xids[0]};
        memmove(g->xids, g->xids + 1, sizeof(g->xids) - sizeof(g->xids[0]));
        g->n_xids--;
        return 0;
    }
    return NVML_TIMEOUT;
}
