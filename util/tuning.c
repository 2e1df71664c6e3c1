/* SPDX-License-Identifier: Apache-2.0 */
#include "util/tuning.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"

static bool is_wanted(const char *variable)
{
    static const char *const list[] = {
        "NCCL_", "UCX_", "PKB_COMM=", "PKB_NVLS=", "PKB_SYMM=", "CUDA_LAUNCH_BLOCKING=", "CUDA_DEVICE_MAX_CONNECTIONS="};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strncmp(variable, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

json_t *tuning_variables(void)
{
    extern char **environ;
    json_t *all = json_object();
    for (size_t i = 0; all && environ && environ[i]; i++) {
        const char *equals = strchr(environ[i], '=');
        if (!equals || !is_wanted(environ[i]))
            continue;
        json_t *value = json_string(equals + 1);
        char *name = strndup(environ[i], (size_t)(equals - environ[i]));
        if (!name || json_object_set_new(all, name, value ? value : json_string("(not UTF-8)")) < 0) {
            json_decref(all);
            all = NULL;
        }
        free(name);
    }
    return all;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *join(const json_t *variables, const char **names, size_t n)
{
    char *text = strdup("");
    for (size_t i = 0; text && i < n; i++) {
        const char *value = json_string_value(json_object_get(variables, names[i]));
        char *longer = pkb_format(NULL, "%s%s%s=%s", text, i ? " " : "", names[i], value ? value : "?");
        free(text);
        text = longer;
    }
    return text;
}

char *tuning_text(const json_t *variables)
{
    size_t n = 0;
    const char **names = calloc(json_object_size(variables) + 1, sizeof(*names)), *name;
    json_t *value;
    if (!names)
        return NULL;
    json_object_foreach((json_t *)variables, name, value) names[n++] = name;
    qsort(names, n, sizeof(*names), by_name);
    char *text = join(variables, names, n);
    free(names);
    return text;
}
