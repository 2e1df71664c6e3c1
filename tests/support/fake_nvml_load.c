/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/fake_nvml.h"

#include <dlfcn.h>
#include <stdio.h>

struct fake_nvml *fake_nvml_load(void)
{
    void *library = dlopen("./tests/support/fake_nvml.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        (void)fprintf(stderr, "%s\n", dlerror());
    return library ? dlsym(library, "fake_nvml") : NULL;
}
