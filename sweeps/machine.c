/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/machine.h"

#include <stdlib.h>
#include <string.h>

#include "problems/problem.h"
#include "util/file.h"
#include "util/gpu.h"
#include "util/paths.h"

#define SHARED_RANKS 8 /* of one GPU */

static bool has_backend(void)
{
    char *path = pkb_path(PKB_PATH_PLUGIN, "backend_cuda.so", NULL);
    bool found = path && pkb_file_exists(path);
    free(path);
    return found;
}

int sweep_machine_read(struct sweep_machine *m, struct pkb_error *err)
{
    const char *wanted = getenv("PKB_DEVICE"), *comm = getenv("PKB_COMM");
    bool cuda = wanted && strcmp(wanted, "cuda") == 0;
    if (wanted && *wanted && !cuda && strcmp(wanted, "host") != 0)
        return pkb_error_set(err, "PKB_DEVICE=%.40s: expected host or cuda", wanted);
    m->gpus = gpu_count();
    if (!wanted || !*wanted)
        cuda = m->gpus > 0 && has_backend();
    m->device = cuda ? "cuda" : "host";
    m->ranks = !cuda ? PROBLEM_MAX_WORLD : comm && strcmp(comm, "staged") == 0 ? SHARED_RANKS * m->gpus : m->gpus;
    return 0;
}
