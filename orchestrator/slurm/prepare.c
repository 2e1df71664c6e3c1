/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "orchestrator/slurm/jobs.h"
#include "orchestrator/slurm/launch.h"
#include "orchestrator/slurm/mpi.h"
#include "util/file.h"
#include "util/json.h"

static char *settings_path(const char *run, struct pkb_error *err)
{
    return pkb_format(err, "%s/slurm.json", run);
}

static bool has_settings(const char *run)
{
    char *path = settings_path(run, NULL);
    bool there = path && pkb_file_exists(path);
    free(path);
    return there;
}

bool slurm_launch_is_run(const char *run)
{
    const char *launcher = NULL;
    if (has_settings(run))
        return true;
    char *path = pkb_format(NULL, "%s/run.json", run);
    json_t *v = path ? pkb_json_read(path, NULL) : NULL;
    bool made_for_it = v && pkb_json_string(v, "launcher", &launcher, NULL) == 0 && strcmp(launcher, "slurm") == 0;
    json_decref(v);
    free(path);
    return made_for_it;
}

void slurm_launch_destroy(struct slurm_launch *l)
{
    if (!l)
        return;
    slurm_settings_clear(&l->settings);
    json_decref(l->given);
    json_decref(l->jobs);
    free(l);
}

/* What the sweep says, or what an earlier submission of the run used. */
static int add_first(struct engine *e, json_t *given, struct pkb_error *err)
{
    struct slurm_settings check = {0};
    if (e->sweep) {
        int rc = !e->sweep->slurm || slurm_settings_decode(e->sweep->slurm, &check, err) == 0 ? 0 : -1;
        slurm_settings_clear(&check);
        if (rc < 0)
            return pkb_error_prefix(err, "sweep %s", e->o->sweep);
        return e->sweep->slurm ? slurm_settings_add(given, e->sweep->slurm, err) : 0;
    }
    if (!has_settings(e->run->path))
        return 0;
    char *path = settings_path(e->run->path, err);
    json_t *earlier = path ? pkb_json_read(path, err) : NULL;
    int rc = earlier ? slurm_settings_add(given, earlier, err) : -1;
    json_decref(earlier);
    free(path);
    return rc;
}

static int gather(struct engine *e, json_t *given, struct pkb_error *err)
{
    bool first = e->sweep || !has_settings(e->run->path);
    if (add_first(e, given, err) < 0)
        return -1;
    if ((first || e->o->site) && slurm_settings_add_site(given, e->o->site, err) < 0)
        return -1;
    for (size_t i = 0; i < e->o->slurm.n; i++)
        if (slurm_settings_add_text(given, e->o->slurm.list[i], err) < 0)
            return -1;
    return 0;
}

int engine_slurm_keep(struct engine *e, struct pkb_error *err)
{
    char *path = settings_path(e->run->path, err);
    int rc = path ? pkb_json_write(path, e->slurm->given, true, err) : -1;
    free(path);
    return rc;
}

int engine_slurm_prepare(struct engine *e, struct pkb_error *err)
{
    struct slurm_launch *l = calloc(1, sizeof(*l));
    e->code = PKB_EXIT_USAGE;
    e->slurm = l;
    if (!l)
        return pkb_error_set(err, "out of memory");
    l->given = json_object();
    if (gather(e, l->given, err) < 0 || slurm_settings_decode(l->given, &l->settings, err) < 0)
        return -1;
    e->code = PKB_EXIT_SYSTEM;
    /* Here and in the jobs: whoever compiles first, the others find it. */
    if (l->settings.cuda_archs && setenv("PKB_CUDA_ARCHS", l->settings.cuda_archs, 1) < 0)
        return pkb_error_errno(err, "setenv");
    l->api = slurm_api_load(err);
    if (!l->api || l->api->limits(&l->limits, err) < 0)
        return -1;
    /* Else every task would find out. Where there is no srun here, the tasks' own one counts. */
    return slurm_mpi_check(l->settings.mpi, err) < 0 ? -1 : 0;
}
