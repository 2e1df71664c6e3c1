/* SPDX-License-Identifier: Apache-2.0 */
/* The command "start": what is to be run, by which rank, on which device. */
#include <stdlib.h>
#include <string.h>

#include "node_agent/runner.h"
#include "sweeps/plan.h"
#include "util/clock.h"
#include "util/json.h"

/* The message's members; strings are borrowed from it. */
struct start {
    const char *role, *backend, *object, *shm_prefix;
    int rank, world, device, samples, timed_sets;
    struct plan_setting setting;
};

static int get_int(const json_t *message, const char *key, int64_t min, int64_t max, int *value, struct pkb_error *err)
{
    int64_t wide;
    if (pkb_json_int(message, key, min, max, &wide, err) < 0)
        return -1;
    *value = (int)wide;
    return 0;
}

static int parse_nodes(const json_t *message, int world, int **nodes, struct pkb_error *err)
{
    json_t *list;
    if (pkb_json_array(message, "node_of_rank", &list, err) < 0)
        return -1;
    if (json_array_size(list) != (size_t)world)
        return pkb_error_set(err, "node_of_rank: %zu entries, expected %d", json_array_size(list), world);
    *nodes = calloc((size_t)world, sizeof(**nodes));
    if (!*nodes)
        return pkb_error_errno(err, "node_of_rank");
    for (int q = 0; q < world; q++) {
        const json_t *v = json_array_get(list, (size_t)q);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= world)
            return pkb_error_set(err, "node_of_rank: entry %d is not a node (0 to %d)", q, world - 1);
        (*nodes)[q] = (int)json_integer_value(v);
    }
    return 0;
}

static int parse_setting(const json_t *message, struct start *s, struct pkb_error *err)
{
    json_t *value;
    if (pkb_json_object(message, "setting", &value, err) < 0)
        return -1;
    if (plan_setting_decode(value, &s->setting, err) < 0)
        return pkb_error_prefix(err, "setting");
    if (s->setting.world != s->world)
        return pkb_error_set(err, "setting: world %d, the agents are %d", s->setting.world, s->world);
    return 0;
}

static int parse(const json_t *message, struct start *s, struct pkb_error *err)
{
    if (pkb_json_string(message, "role", &s->role, err) < 0 || pkb_json_string(message, "backend", &s->backend, err) < 0 ||
        pkb_json_string(message, "shm_prefix", &s->shm_prefix, err) < 0)
        return -1;
    if (get_int(message, "world", 1, PROBLEM_MAX_WORLD, &s->world, err) < 0 ||
        get_int(message, "rank", 0, s->world - 1, &s->rank, err) < 0 ||
        get_int(message, "device", -1, 1024, &s->device, err) < 0 ||
        get_int(message, "samples", 0, SEGMENT_MAX_SETS, &s->samples, err) < 0 ||
        get_int(message, "timed_sets", 1, SEGMENT_MAX_SETS, &s->timed_sets, err) < 0)
        return -1;
    if (strcmp(s->role, "reference") != 0 && strcmp(s->role, "candidate") != 0)
        return pkb_error_set(err, "role: '%.40s' is neither reference nor candidate", s->role);
    if (strcmp(s->role, "candidate") == 0 && pkb_json_string(message, "object", &s->object, err) < 0)
        return -1;
    return parse_setting(message, s, err);
}

static int map_segments(struct runner *r, struct pkb_error *err)
{
    if (segment_map(PROTOCOL_INPUTS, r->layout.inputs_size, 0, &r->inputs, err) < 0)
        return pkb_error_prefix(err, "inputs");
    if (r->role == &runner_candidate && segment_map(PROTOCOL_RESULTS, r->layout.slots_size, 1, &r->results, err) < 0)
        return pkb_error_prefix(err, "results");
    return 0;
}

static int open_device(struct runner *r, const struct start *s, struct pkb_error *err)
{
    const struct rt_options options = {
        .rank = s->rank,
        .world = s->world,
        .node_of_rank = r->node_of_rank,
        .device = s->device,
        .shm_prefix = s->shm_prefix,
        .exchange = runner_exchange,
        .exchange_arg = r,
    };
    r->rt = rt_open(s->backend, &options, err);
    r->device = strcmp(s->backend, "host") == 0 ? -1 : s->device;
    return r->rt ? 0 : -1;
}

static int prepare(struct runner *r, const struct start *s, struct pkb_error *err)
{
    plan_setting_for_rank(&s->setting, s->rank, &r->setting);
    if (problem_setting_check(&r->setting, err) < 0)
        return -1;
    if (segment_layout_make(&r->setting, s->setting.trials, s->timed_sets, s->samples, 0, &r->layout, err) < 0)
        return -1;
    if (map_segments(r, err) < 0)
        return -1;
    return open_device(r, s, err);
}

/* What a runner before this one has done to the device must not be blamed on this one's candidate. */
static int check_device(struct runner *r)
{
    struct pkb_error err;
    unsigned char bytes[64] = {0};
    pkb_tensor t = {.dtype = PKB_U8, .ndim = 1, .shape = {sizeof(bytes)}};
    if (rt_keep(r->rt, &t, &err) == 0) {
        rt_fill_bytes(r->rt, &t, 0x5a);
        rt_download(r->rt, bytes, &t);
        if (rt_sync(r->rt, &err) == 0 && bytes[0] != 0x5a)
            pkb_error_set(&err, "memory does not keep what is written");
        if (bytes[0] == 0x5a && bytes[sizeof(bytes) - 1] == 0x5a)
            return 0;
    }
    return runner_fail(r, OUTCOME_INFRA_ERROR, "%s cannot be used: %s", rt_device_name(r->rt), err.text);
}

/* Sets up everything between the ranks before foreign code runs, so that the exchanges that it takes cannot be mistaken for
 * those of a candidate. */
static int connect_ranks(struct runner *r)
{
    struct pkb_error err;
    if (r->role == &runner_reference && rt_connect(r->rt, &err) < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "connecting the ranks: %s", err.text);
    runner_barrier(r);
    if (rt_sync(r->rt, &err) < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "connecting the ranks: %s", err.text);
    return 0;
}

/* Seconds since the mark, which moves on. */
static double lap(int64_t *mark)
{
    int64_t before = *mark;
    *mark = pkb_now_ns();
    return (double)(*mark - before) / 1e9;
}

int runner_start(struct runner *r, const json_t *message)
{
    struct pkb_error err;
    struct start s = {0};
    if (parse(message, &s, &err) < 0 || parse_nodes(message, s.world, &r->node_of_rank, &err) < 0) {
        runner_fail(r, OUTCOME_INFRA_ERROR, "malformed command: start: %s", err.text);
        r->exit_code = RUNNER_EXIT_MALFORMED;
        return -1;
    }
    r->role = strcmp(s.role, "reference") == 0 ? &runner_reference : &runner_candidate;
    int64_t mark = pkb_now_ns();
    if (r->role == &runner_candidate && runner_confine(&err) < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "confining the candidate: %s", err.text);
    if (prepare(r, &s, &err) < 0)
        return runner_fail(r, OUTCOME_INFRA_ERROR, "%s", err.text);
    if (check_device(r) < 0)
        return -1;
    r->took.device = lap(&mark);
    if (connect_ranks(r) < 0)
        return -1;
    r->took.connect = lap(&mark);
    if (runner_engine_open(r) < 0)
        return -1;
    r->took.buffers = lap(&mark);
    int rc = r->role->open(r, s.object);
    r->took.load = lap(&mark);
    return rc;
}
