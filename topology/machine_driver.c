/* SPDX-License-Identifier: Apache-2.0 */
/* What the NVIDIA driver says. */
#include <string.h>

#include "topology/machine.h"
#include "util/nvml.h"

void machine_read_driver(struct machine *m)
{
    unsigned int n = 0;
    nvml_device device;
    struct nvml *nvml = nvml_open(NULL, NULL);
    m->driver_gpus = -1;
    if (!nvml)
        return;
    if (nvml->device_count && nvml->device_count(&n) == NVML_OK && n <= MACHINE_MAX_GPUS)
        m->driver_gpus = (int)n;
    if (m->driver_gpus > 0 && nvml->device_by_index && nvml->device_name && nvml->device_by_index(0, &device) == NVML_OK &&
        nvml->device_name(device, m->gpu_name, sizeof(m->gpu_name)) != NVML_OK)
        m->gpu_name[0] = '\0';
    nvml_close(nvml);
}
