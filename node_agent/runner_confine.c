/* SPDX-License-Identifier: Apache-2.0 */
/* Before anything of a candidate runs: it must not write records, builds or whatever else the user may, nor reach its agent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "node_agent/runner.h"
#include "util/confine.h"

#define MAX_FOLDERS 16
#define OWN_THREADS "/proc/self/task" /* CUDA gives its threads names, and does not start where it may not */
#define MPS_FOLDER "/tmp/nvidia-mps"  /* CUDA's default for the pipes of its Multi-Process Service */

/* Splits "DIR:DIR" in place. */
static size_t split(char *list, const char **folders, size_t n)
{
    char *rest = NULL;
    for (char *at = strtok_r(list, ":", &rest); at && n < MAX_FOLDERS; at = strtok_r(NULL, ":", &rest))
        folders[n++] = at;
    return n;
}

int runner_confine(struct pkb_error *err)
{
    const char *mps = getenv("CUDA_MPS_PIPE_DIRECTORY"), *more = getenv("PKB_CANDIDATE_WRITES");
    const char *folders[MAX_FOLDERS] = {"/dev/shm", OWN_THREADS, mps && *mps ? mps : MPS_FOLDER};
    char *list = more ? strdup(more) : NULL;
    if (more && !list)
        return pkb_error_set(err, "out of memory");
    size_t n = list ? split(list, folders, 3) : 3;
    /* UCX would open its peers' memory through their folders in /proc, which are closed now; their names will do. */
    int rc =
        setenv("UCX_POSIX_USE_PROC_LINK", "n", 0) < 0 ? pkb_error_errno(err, "environment") : confine_process(folders, n, err);
    free(list);
    return rc < 0 ? -1 : 0;
}
