/* SPDX-License-Identifier: Apache-2.0 */
/* What bench_slurm launches:
 *
 *     join_world agents    joins a world as agents do; rank 0 prints a line once a first round of all ranks is over
 *     join_world hello     initializes PMIx, prints a line and finalizes it, as any PMIx program does */
#include <pmix.h>
#include <stdio.h>
#include <string.h>

#include "build-id.h"
#include "node_agent/world.h"

#define SECONDS 60

static int join(struct pkb_error *err)
{
    struct agent_world *w = agent_world_join(PKB_BUILD_ID, 0, SECONDS, err);
    int rc = w ? rounds_submit(w->rounds, ROUND_EXCHANGE, "here", 4, err) : -1;
    if (rc == 0)
        rc = rounds_wait(w->rounds, SECONDS * 1000, err);
    if (rc == 0 && w->rank == 0)
        (void)printf("%d ranks on %d nodes\n", w->world, w->nodes);
    (void)fflush(stdout);
    agent_world_destroy(w);
    return rc == 0 ? 0 : -1;
}

static int hello(struct pkb_error *err)
{
    pmix_proc_t self;
    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return pkb_error_set(err, "there is no PMIx server");
    (void)printf("hello from %u\n", self.rank);
    (void)fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : pkb_error_set(err, "PMIx cannot be finalized");
}

int main(int argc, char **argv)
{
    struct pkb_error err = {"usage: join_world agents|hello"};
    int rc = -1;
    if (argc == 2 && strcmp(argv[1], "agents") == 0)
        rc = join(&err);
    else if (argc == 2 && strcmp(argv[1], "hello") == 0)
        rc = hello(&err);
    if (rc < 0)
        (void)fprintf(stderr, "join_world: %s\n", err.text);
    return rc < 0 ? 1 : 0;
}
