/* SPDX-License-Identifier: Apache-2.0 */
/* A management library with the answers that a test gives it: what code makes of GPUs can be tested where there are none. It has
 * the real library's soname, so that whoever loads that by name after the test has loaded this gets this. */
#ifndef PKB_TESTS_FAKE_NVML_H
#define PKB_TESTS_FAKE_NVML_H

#define FAKE_GPUS 8
#define FAKE_PROCESSES 8

struct fake_gpu {
    char uuid[96];
    int capability;  /* 90 */
    int result;      /* of every question about it: 0, or an error like 15 (lost) */
    int unsupported; /* ECC and throttle reasons are not supported */
    unsigned clock, temperature, power;
    unsigned long long memory_used, throttle, uncorrected;
    unsigned n_processes, pids[FAKE_PROCESSES];
    unsigned n_xids;
    unsigned long long xids[8]; /* given out once, in order */
};

struct fake_nvml {
    int init_result, open; /* open: nvmlInit less nvmlShutdown */
    unsigned n;
    struct fake_gpu gpu[FAKE_GPUS];
};

/* The library's variable `fake_nvml`, after it has been loaded from the build tree; NULL when it cannot be. */
struct fake_nvml *fake_nvml_load(void);

#endif
