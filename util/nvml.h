/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's management library, loaded at run time: programs neither link nor need it. Only what pkb asks of it is declared
 * here. The types are the library's binary interface.
 *
 * Functions return 0 for success and are NULL where the installed library lacks them. */
#ifndef PKB_UTIL_NVML_H
#define PKB_UTIL_NVML_H

#include "util/error.h"

typedef struct nvml_device *nvml_device;
typedef struct nvml_events *nvml_events;

/* Results that callers tell apart. */
enum { NVML_OK = 0, NVML_NOT_SUPPORTED = 3, NVML_TIMEOUT = 10, NVML_TOO_SMALL = 7, NVML_LOST = 15 };

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };
enum { NVML_ECC_UNCORRECTED = 1, NVML_ECC_SINCE_LOAD = 0 };
#define NVML_EVENT_XID 0x8ULL

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_process {
    unsigned int pid;
    unsigned long long memory;
    unsigned int instance, compute_instance;
};

struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data: the Xid's number */
    unsigned int instance, compute_instance;
};

struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int result);
    int (*device_count)(unsigned int *n);
    int (*device_by_index)(unsigned int index, nvml_device *d);
    int (*device_by_uuid)(const char *uuid, nvml_device *d);
    int (*device_uuid)(nvml_device d, char *text, unsigned int size);
    int (*device_name)(nvml_device d, char *text, unsigned int size);
    int (*capability)(nvml_device d, int *major, int *minor);
    int (*memory)(nvml_device d, struct nvml_memory *m);
    int (*clock)(nvml_device d, int which, unsigned int *mhz);
    int (*max_clock)(nvml_device d, int which, unsigned int *mhz);
    int (*throttle_reasons)(nvml_device d, unsigned long long *bits);
    int (*temperature)(nvml_device d, int sensor, unsigned int *celsius);
    int (*power)(nvml_device d, unsigned int *milliwatts);
    int (*ecc_errors)(nvml_device d, int type, int counter, unsigned long long *n);
    int (*processes)(nvml_device d, unsigned int *n, struct nvml_process *list);
    int (*events_create)(nvml_events *set);
    int (*events_free)(nvml_events set);
    int (*events_register)(nvml_device d, unsigned long long types, nvml_events set);
    int (*events_wait)(nvml_events set, struct nvml_event *e, unsigned int timeout_ms);
};

/* Loads and initialises the library: libnvidia-ml.so.1, or the one at `path`. NULL with the error set when there is none, or no
 * driver. The caller closes it. */
struct nvml *nvml_open(const char *path, struct pkb_error *err);
void nvml_close(struct nvml *n);

#endif
