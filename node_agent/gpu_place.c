/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/gpu_place.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/json.h"

/* ---- choosing ---------------------------------------------------------------------------------------------------------- */

int gpu_place_choose(int local_rank, int local_world, int visible, bool shared, struct pkb_error *err)
{
    if (visible < 0)
        return local_rank;
    if (visible == 0)
        return pkb_error_set(err, "no GPU is visible here (nvidia-smi -L; CUDA_VISIBLE_DEVICES)");
    if (shared)
        return local_rank % visible;
    if (visible == 1)
        return 0;
    if (local_rank < visible)
        return local_rank;
    return pkb_error_set(
        err,
        "%d ranks on this node, but only %d GPUs are visible: run fewer ranks per node, or set PKB_COMM=staged to "
        "let ranks share GPUs",
        local_world, visible);
}

bool gpu_place_same(const char *const *uuids, const int *node_of_rank, int world, int *a, int *b)
{
    for (*b = 1; *b < world; (*b)++)
        for (*a = 0; *a < *b; (*a)++)
            if (node_of_rank[*a] == node_of_rank[*b] && uuids[*a][0] != '\0' && strcmp(uuids[*a], uuids[*b]) == 0)
                return true;
    return false;
}

static bool is_shared(void)
{
    const char *comm = getenv("PKB_COMM");
    return comm && strcmp(comm, "staged") == 0;
}

static int count_visible(void)
{
    struct gpu_list list;
    struct nvml *n = nvml_open(NULL, NULL);
    if (!n)
        return -1;
    int rc = gpu_list_visible(n, getenv("CUDA_VISIBLE_DEVICES"), &list, NULL);
    nvml_close(n);
    return rc < 0 ? -1 : list.n;
}

static int count_local(const struct agent_world *w)
{
    int n = 0;
    for (int i = 0; i < w->world; i++)
        n += w->node_of_rank[i] == w->node_of_rank[w->rank];
    return n;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------------ */

static int submit(struct agent *a, enum outcome outcome, const char *detail, const json_t *more, struct decision *d, json_t **all,
                  struct pkb_error *err)
{
    char *text = verdict_encode(outcome, detail, more);
    if (!text)
        return agent_end(a, AGENT_EXIT_FAILED, err, "GPU: out of memory");
    int rc = rounds_submit(a->world->rounds, ROUND_VERDICT, text, strlen(text), err);
    free(text);
    if (rc < 0)
        return agent_end(a, AGENT_EXIT_LOST, err, NULL);
    if (agent_wait(a, err) < 0)
        return -1;
    return decide_verdict(a->world->rounds, a->world->world, d, all, err) < 0 ? agent_end(a, AGENT_EXIT_FAILED, err, NULL) : 0;
}

static int check_distinct(struct agent *a, const json_t *all, struct pkb_error *err)
{
    const struct agent_world *w = a->world;
    const char **uuids = calloc((size_t)w->world, sizeof(*uuids));
    int first, second, rc = 0;
    if (!uuids)
        return agent_end(a, AGENT_EXIT_FAILED, err, "GPU: out of memory");
    for (int i = 0; i < w->world; i++) {
        uuids[i] = json_string_value(json_array_get(all, (size_t)i));
        if (!uuids[i])
            uuids[i] = "";
    }
    if (!is_shared() && gpu_place_same(uuids, w->node_of_rank, w->world, &first, &second))
        rc = agent_end(a, AGENT_EXIT_FAILED, err,
                       "ranks %d and %d share %s of %s: give each rank a GPU of its own, or set PKB_COMM=staged to let ranks "
                       "share GPUs",
                       first, second, uuids[first], w->hosts[first]);
    free(uuids);
    return rc;
}

int gpu_place(struct agent *a, struct pkb_error *err)
{
    struct pkb_error why = {""};
    struct decision d;
    json_t *all = NULL;
    a->gpu_ordinal = gpu_place_choose(a->world->local_rank, count_local(a->world), count_visible(), is_shared(), &why);
    if (a->gpu_ordinal >= 0)
        a->gpu = gpu_watch_create(a->gpu_ordinal);
    json_t *uuid = json_string(gpu_watch_uuid(a->gpu));
    int rc = submit(a, a->gpu_ordinal < 0 ? OUTCOME_INFRA_ERROR : OUTCOME_CORRECT, why.text, uuid, &d, &all, err);
    json_decref(uuid);
    if (rc == 0 && d.outcome != OUTCOME_CORRECT)
        rc = agent_end(a, AGENT_EXIT_FAILED, err, "%s", d.detail);
    if (rc == 0)
        rc = check_distinct(a, all, err);
    json_decref(all);
    return rc;
}

/* ---- states ------------------------------------------------------------------------------------------------------------ */

/* All agents of a node have one parent; a lone one may have been started by hand. */
void gpu_look(const struct agent *a, struct gpu_state *s)
{
    gpu_watch_look(a->gpu, a->world->world > 1 ? getppid() : getpid(), s);
}

int gpu_compare(struct agent *a, const struct gpu_state *before, const struct gpu_state *after, struct decision *d,
                json_t **states, struct pkb_error *err)
{
    char why[300] = "";
    struct decision said;
    struct gpu_state now;
    gpu_look(a, &now);
    bool bad = gpu_state_is_bad(before, after, why, sizeof(why)) || gpu_state_is_bad(before, &now, why, sizeof(why));
    json_t *more = json_pack("{s:s, s:o, s:o}", "uuid", gpu_watch_uuid(a->gpu), "before", gpu_state_encode(before), "after",
                             gpu_state_encode(after));
    int rc = submit(a, bad ? OUTCOME_INFRA_ERROR : OUTCOME_CORRECT, why, more, &said, states, err);
    json_decref(more);
    if (rc == 0 && said.outcome != OUTCOME_CORRECT)
        *d = said;
    return rc;
}
