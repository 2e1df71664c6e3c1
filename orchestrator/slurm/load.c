/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "orchestrator/slurm/api.h"
#include "util/file.h"
#include "util/paths.h"

/* libslurm waits for a minute and then ends the process when it finds no configuration, so look first. */
static int check_configuration(struct pkb_error *err)
{
    static const char *const places[] = {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/usr/local/etc/slurm.conf",
                                         "/opt/slurm/etc/slurm.conf", "/run/slurm/conf/slurm.conf"};
    const char *path = getenv("SLURM_CONF");
    if (path && access(path, R_OK) < 0)
        return pkb_error_errno(err, "Slurm's configuration $SLURM_CONF=%s", path);
    for (size_t i = 0; !path && i < sizeof(places) / sizeof(places[0]); i++)
        if (access(places[i], R_OK) == 0)
            path = places[i];
    return path ? 0 : pkb_error_set(err, "there is no slurm.conf at the usual places; let SLURM_CONF name it");
}

static const struct slurm_api *load(const char *path, struct pkb_error *err)
{
    /* libslurm's own plugins need its symbols. */
    void *plugin = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!plugin) {
        pkb_error_set(err, "the Slurm plugin cannot be loaded: %s", dlerror());
        return NULL;
    }
    const struct slurm_api *api = dlsym(plugin, SLURM_API_SYMBOL);
    (void)dlclose(plugin); /* stays, by RTLD_NODELETE */
    if (api && api->version == SLURM_API_VERSION)
        return api;
    pkb_error_set(err, "%s belongs to another build of pkb", path);
    return NULL;
}

const struct slurm_api *slurm_api_load(struct pkb_error *err)
{
    char *path = pkb_path(PKB_PATH_PLUGIN, "launcher_slurm.so", err);
    const struct slurm_api *api = NULL;
    if (path && !pkb_file_exists(path))
        pkb_error_set(err, "this pkb was built without Slurm (%s is missing): install libslurm-dev and configure --with-slurm",
                      path);
    else if (path && check_configuration(err) == 0)
        api = load(path, err);
    free(path);
    return api;
}
