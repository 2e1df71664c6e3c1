/* SPDX-License-Identifier: Apache-2.0 */
#include "util/gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load_all(const struct nvml *nvml, struct gpu_list *all, struct pkb_error *err)
{
    unsigned int n = 0;
    int rc = nvml->device_count(&n);
    if (rc != NVML_OK)
        return pkb_error_set(err, "counting GPUs: %s", nvml->error_string(rc));
    all->n = 0;
    for (unsigned int i = 0; i < n && i < GPU_MAX; i++) {
        struct gpu *g = &all->gpu[all->n];
        rc = nvml->device_by_index(i, &g->device);
        if (rc == NVML_OK)
            rc = nvml->device_uuid(g->device, g->uuid, sizeof(g->uuid));
        if (rc != NVML_OK)
            return pkb_error_set(err, "GPU %u: %s", i, nvml->error_string(rc));
        all->n++;
    }
    return 0;
}

/* The entry of `all` that a number or the beginning of a UUID names; -1: none. */
static int find(const struct gpu_list *all, const char *token)
{
    char *end;
    errno = 0;
    long number = strtol(token, &end, 10);
    if (end != token && *end == '\0')
        return errno == 0 && number >= 0 && number < all->n ? (int)number : -1;
    int found = -1;
    size_t n = strlen(token);
    for (int i = 0; n > 4 && i < all->n; i++) {
        if (strncmp(all->gpu[i].uuid, token, n) != 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* Appends what one entry names. 1: appended, 0: it names nothing, -1: it names what is listed already. */
static int add(const struct nvml *nvml, const struct gpu_list *all, const char *token, struct gpu_list *list)
{
    struct gpu g = {0};
    int i = find(all, token);
    if (i >= 0) {
        g = all->gpu[i];
    } else if (strncmp(token, "MIG-", 4) == 0 && nvml->device_by_uuid(token, &g.device) == NVML_OK) {
        (void)snprintf(g.uuid, sizeof(g.uuid), "%s", token);
    } else {
        return 0;
    }
    for (int k = 0; k < list->n; k++)
        if (strcmp(list->gpu[k].uuid, g.uuid) == 0)
            return -1;
    if (list->n == GPU_MAX)
        return 0;
    list->gpu[list->n++] = g;
    return 1;
}

int gpu_list_visible(const struct nvml *nvml, const char *visible, struct gpu_list *list, struct pkb_error *err)
{
    struct gpu_list all;
    char token[GPU_UUID];
    list->n = 0;
    if (load_all(nvml, &all, err) < 0)
        return -1;
    if (!visible) {
        *list = all;
        return 0;
    }
    for (const char *p = visible; *p != '\0';) {
        p += strspn(p, " ");
        size_t n = strcspn(p, ",");
        (void)snprintf(token, sizeof(token), "%.*s", (int)(n < sizeof(token) ? n : sizeof(token) - 1), p);
        token[strcspn(token, " ")] = '\0';
        int rc = add(nvml, &all, token, list);
        if (rc < 0)
            list->n = 0;
        if (rc <= 0)
            break;
        p += n + (p[n] == ',');
    }
    return 0;
}

int gpu_count(void)
{
    struct gpu_list list = {.n = 0};
    struct nvml *nvml = nvml_open(NULL, NULL);
    if (nvml)
        (void)gpu_list_visible(nvml, getenv("CUDA_VISIBLE_DEVICES"), &list, NULL);
    nvml_close(nvml);
    return list.n;
}

/* Keeps the list sorted and without repetition. */
static int insert(int *list, int n, int size, int value)
{
    int at = 0;
    while (at < n && list[at] < value)
        at++;
    if ((at < n && list[at] == value) || n == size)
        return n;
    memmove(&list[at + 1], &list[at], (size_t)(n - at) * sizeof(list[0]));
    list[at] = value;
    return n + 1;
}

int gpu_capabilities(int *list, int size)
{
    struct gpu_list gpus = {.n = 0};
    struct nvml *nvml = nvml_open(NULL, NULL);
    int n = 0, major, minor;
    if (nvml)
        (void)gpu_list_visible(nvml, getenv("CUDA_VISIBLE_DEVICES"), &gpus, NULL);
    for (int i = 0; i < gpus.n; i++)
        if (nvml->capability(gpus.gpu[i].device, &major, &minor) == NVML_OK)
            n = insert(list, n, size, 10 * major + minor);
    nvml_close(nvml);
    return n;
}
