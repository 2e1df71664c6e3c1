/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/module.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "util/paths.h"

const void *rt_module(const char *name, const char *symbol, struct pkb_error *err)
{
    char *path = pkb_path(PKB_PATH_PLUGIN, name, err);
    const void *table = NULL;
    if (!path)
        return NULL;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!plugin) {
        (void)pkb_error_set(err, "%s", dlerror());
    } else {
        table = dlsym(plugin, symbol);
        (void)dlclose(plugin); /* stays, by RTLD_NODELETE */
        if (!table)
            (void)pkb_error_set(err, "%s: no symbol %s", path, symbol);
    }
    free(path);
    return table;
}
