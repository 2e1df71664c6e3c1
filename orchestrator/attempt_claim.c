/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/attempt_claim.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "results/record.h"
#include "util/file.h"

#define MAX_ATTEMPTS 999

char *attempt_log_dir(const char *run, int shard, int number, struct pkb_error *err)
{
    return pkb_format(err, "%s/logs/shard-%06d.%03d", run, shard, number);
}

/* 1: taken, 0: somebody has it, -1: neither. */
static int try_number(const char *run, int shard, int number, struct pkb_error *err)
{
    char *folder = attempt_log_dir(run, shard, number, err);
    if (!folder)
        return -1;
    int rc = 1;
    if (mkdir(folder, 0777) < 0)
        rc = errno == EEXIST ? 0 : pkb_error_errno(err, "%s", folder);
    free(folder);
    return rc;
}

int attempt_claim(const char *run, int shard, int *number, struct pkb_error *err)
{
    if (record_next_attempt(run, shard, number, err) < 0)
        return -1;
    for (; *number <= MAX_ATTEMPTS; (*number)++) {
        int rc = try_number(run, shard, *number, err);
        if (rc != 0)
            return rc < 0 ? -1 : 0;
    }
    return pkb_error_set(err, "shard %d has had %d attempts, which is the limit; start a new run", shard, MAX_ATTEMPTS);
}
