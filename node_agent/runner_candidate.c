/* SPDX-License-Identifier: Apache-2.0 */
/* The role "candidate": foreign code in this process. It may do anything; whatever is said about it here is checked by the agent. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "node_agent/runner.h"

/* The services of a context are called by foreign code that may pass any pointer as the context: they use this instead. */
static struct runner *the_runner;

/* ---- services ---------------------------------------------------------------------------------------------------------- */

/* What the candidate has left so far; the first fault stays. */
static void note_fault(struct runner *r)
{
    struct pkb_error why;
    enum rt_fault fault = rt_foreign_fault(r->rt, &why);
    if (r->candidate.fault == RT_FAULT_NONE && fault != RT_FAULT_NONE) {
        r->candidate.fault = fault;
        r->candidate.why = why;
    }
}

enum rt_fault runner_candidate_fault(struct runner *r, struct pkb_error *err)
{
    note_fault(r);
    if (r->candidate.fault != RT_FAULT_NONE)
        *err = r->candidate.why;
    return r->candidate.fault;
}

static int service_symm_alloc(const pkb_context *context, size_t bytes, pkb_symm *symm)
{
    struct runner *r = the_runner;
    struct pkb_error err;
    (void)context;
    note_fault(r);
    uint32_t before = runner_enter(r, STAGE_ALLOC);
    int rc = rt_symm_alloc(r->rt, bytes, symm, &err);
    if (rc < 0) {
        fprintf(stderr, "pkb-runner: symm_alloc: %s\n", err.text);
        if (bytes > 0 && rt_status(r->rt, NULL) == 0 && r->candidate.fault == RT_FAULT_NONE)
            atomic_store_explicit(&r->status->alloc_refused, 1, memory_order_relaxed);
    }
    runner_enter(r, (enum runner_stage)before);
    return rc < 0 ? -1 : 0;
}

static int service_barrier(const pkb_context *context)
{
    (void)context;
    note_fault(the_runner);
    runner_barrier(the_runner);
    return rt_status(the_runner->rt, NULL) < 0 ? -1 : 0;
}

/* ---- context ----------------------------------------------------------------------------------------------------------- */

/* Ranks before `rank` on the same node, and all of that node. */
static void count_local(const int *node_of_rank, int world, int rank, int32_t *local_rank, int32_t *local_world)
{
    *local_rank = *local_world = 0;
    for (int q = 0; q < world; q++) {
        if (node_of_rank[q] != node_of_rank[rank])
            continue;
        *local_rank += q < rank;
        *local_world += 1;
    }
}

/* Nodes are numbered in the order of their first rank. */
static void count_nodes(const int *node_of_rank, int world, int rank, int32_t *node, int32_t *nodes)
{
    *nodes = 0;
    for (int q = 0; q < world; q++) {
        int32_t before, all;
        count_local(node_of_rank, world, q, &before, &all);
        if (node_of_rank[q] == node_of_rank[rank] && before == 0)
            *node = *nodes;
        *nodes += before == 0;
    }
}

static void make_context(struct runner *r, pkb_context *c)
{
    const struct problem_setting *s = &r->setting;
    *c = (pkb_context){
        .abi_version = PKB_ABI_VERSION,
        .size = sizeof(*c),
        .rank = s->rank,
        .world = s->world,
        .device = r->device,
        .n_in = r->layout.n_in,
        .n_out = r->layout.n_out,
        .n_params = s->problem->n_params,
        .stream = rt_stream(r->rt),
        .params = r->call.named,
        .symm_alloc = service_symm_alloc,
        .barrier = service_barrier,
        .local_rank = r->candidate.local_rank,
        .local_world = r->candidate.local_world,
        .node = r->candidate.node,
        .nodes = r->candidate.nodes,
    };
}

static void candidate_prepare(struct runner *r)
{
    for (int i = 0; i < r->setting.problem->n_params; i++)
        r->call.named[i] = (pkb_param){r->setting.problem->params[i].name, r->call.params[i]};
    make_context(r, &r->call.context);
}

static int candidate_call(struct runner *r)
{
    return r->candidate.solution(&r->call.context, r->call.in, r->call.out);
}

/* ---- loading ----------------------------------------------------------------------------------------------------------- */

static int check_abi(struct runner *r, void *object)
{
    const uint32_t *version = dlsym(object, "pkb_abi_version");
    if (!version)
        return runner_fail(
            r, OUTCOME_LOAD_ERROR,
            "no symbol pkb_abi_version: the candidate does not include <pkb/candidate.h>, or hides what it exports");
    if (*version != PKB_ABI_VERSION)
        return runner_fail(
            r, OUTCOME_LOAD_ERROR,
            "built against version %u of <pkb/candidate.h>, but this pkb has version %d: build it with this pkb's header",
            *version, PKB_ABI_VERSION);
    return 0;
}

/* dlsym gives data pointers; the bytes of a function pointer are the same on every POSIX system. */
static void find_function(void *object, const char *name, void *function)
{
    void *symbol = dlsym(object, name);
    memcpy(function, &symbol, sizeof(symbol));
}

static int load(struct runner *r, const char *path)
{
    (void)dlerror();
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *why = dlerror();
        return runner_fail(r, OUTCOME_LOAD_ERROR, "cannot load the candidate: %s", why ? why : "unknown reason");
    }
    find_function(object, "pkb_solution", &r->candidate.solution);
    find_function(object, "pkb_setup", &r->candidate.setup);
    find_function(object, "pkb_teardown", &r->candidate.teardown);
    if (!r->candidate.solution)
        return runner_fail(
            r, OUTCOME_LOAD_ERROR,
            "no symbol pkb_solution: define int pkb_solution(const pkb_context *, const pkb_tensor *, pkb_tensor *)");
    return check_abi(r, object);
}

static int candidate_open(struct runner *r, const char *path)
{
    the_runner = r;
    count_local(r->node_of_rank, r->setting.world, r->setting.rank, &r->candidate.local_rank, &r->candidate.local_world);
    count_nodes(r->node_of_rank, r->setting.world, r->setting.rank, &r->candidate.node, &r->candidate.nodes);
    runner_enter(r, STAGE_SETUP);
    if (load(r, path) < 0)
        return -1;
    if (!r->candidate.setup)
        return 0;
    runner_ready_outputs(r, &r->frames[0]);
    runner_prepare(r, &r->frames[0], runner_params(r, 0));
    int rc = r->candidate.setup(&r->call.context, r->call.in, r->call.out);
    return runner_called(r, rc, "pkb_setup");
}

static void candidate_close(struct runner *r)
{
    if (r->candidate.teardown)
        r->candidate.teardown(&r->call.context);
}

/* ---- trials ------------------------------------------------------------------------------------------------------------ */

static int candidate_trials(struct runner *r)
{
    for (int t = 0; t < r->layout.trials; t++) {
        struct runner_frame *frame = &r->frames[t % r->n_pool];
        runner_number(r, (uint32_t)t, false);
        runner_upload_set(r, t, frame->in);
        runner_ready_outputs(r, frame);
        if (runner_settle(r) < 0)
            return -1;
        runner_prepare(r, frame, runner_params(r, t));
        runner_barrier(r);
        if (runner_called(r, runner_call(r), r->role->name) < 0)
            return -1;
        runner_store(r, frame, r->call.out, t);
        if (runner_sync(r, r->role->name) < 0)
            return -1;
    }
    return 0;
}

const struct runner_role runner_candidate = {
    .name = "pkb_solution",
    .blame = OUTCOME_RUNTIME_ERROR,
    .open = candidate_open,
    .prepare = candidate_prepare,
    .call = candidate_call,
    .trials = candidate_trials,
    .close = candidate_close,
};
