/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/mpi.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "util/process.h"

#define ASK_MS 30000

/* What `srun --mpi=list` says: at most size - 1 bytes. */
static int ask_srun(char *text, size_t size, struct pkb_error *err)
{
    const char *argv[] = {"/usr/bin/env", "srun", "--mpi=list", NULL};
    int pipes[2], status = 0;
    if (pipe2(pipes, O_CLOEXEC) < 0)
        return pkb_error_errno(err, "pipe");
    struct process_spec spec = {.argv = argv, .stdin_fd = -1, .stdout_fd = pipes[1], .stderr_fd = pipes[1]};
    int rc = process_run(&spec, ASK_MS, &status, err); /* the list fits into the pipe */
    (void)close(pipes[1]);
    ssize_t n = rc == 0 ? read(pipes[0], text, size - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    (void)close(pipes[0]);
    if (rc > 0)
        return pkb_error_set(err, "srun --mpi=list does not answer");
    return rc < 0 || status == 0 ? rc : pkb_error_set(err, "there is no srun on PATH, or it fails: %.200s", text);
}

/* Types stand for themselves, between blanks and commas: "pmix", "pmix_v4". */
static bool names(const char *list, const char *type)
{
    size_t n = strlen(type);
    for (const char *at = strstr(list, type); at && n > 0; at = strstr(at + 1, type)) {
        bool begins = at == list || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[n]) && at[n] != '_')
            return true;
    }
    return false;
}

int slurm_mpi_check(const char *type, struct pkb_error *err)
{
    char list[1024];
    if (ask_srun(list, sizeof(list), err) < 0)
        return 1;
    if (names(list, type))
        return 0;
    return pkb_error_set(err,
                         "srun --mpi=list does not name '%s': install Slurm's PMIx plugin (Debian: slurm-wlm-basic-plugins; else "
                         "build Slurm --with-pmix), or let the setting mpi name another one",
                         type);
}
