/* SPDX-License-Identifier: Apache-2.0 */
/* One rank of a world of agents that only join: agent_join EXPECTED [RANK]. The build of that rank is another one. Prints the world as rank
 * 0 sees it after a round. Exit code 0, 1 (with the reason on standard error), or 3 when the world was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/world.h"

int main(int argc, char **argv)
{
    struct pkb_error err;
    const char *rank = getenv("PMIX_RANK");
    const char *build = argc > 2 && rank && strcmp(rank, argv[2]) == 0 ? "build-b" : "build-a";
    struct agent_world *w = agent_world_join(build, argc > 1 ? atoi(argv[1]) : 0, 20, &err);
    if (!w) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int rc = rounds_submit(w->rounds, ROUND_DONE, "x", 1, &err) < 0 || rounds_wait(w->rounds, 20000, &err) != 0 ? 3 : 0;
    if (rc == 0 && w->rank == 0)
        (void)printf("world %d, %d nodes, last on node %d\n", w->world, w->nodes, w->node_of_rank[w->world - 1]);
    agent_world_destroy(w);
    return rc;
}
