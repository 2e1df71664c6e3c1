/* SPDX-License-Identifier: Apache-2.0 */
/* Messages through UCX tag matching: shared memory inside a node, TCP between nodes. */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#include "config.h"
#include "runtime/host/transport.h"
#include "util/clock.h"

/* Waiting: first progress alone, then give the core to other ranks, then sleep until UCX has an event. */
#define SPINS 200
#define YIELDS 50
#define SLEEP_MS 200
#define CLOSE_NS ((int64_t)1000000000)

struct peer {
    bool remote;            /* on another node */
    ucp_address_t *address; /* NULL once connected */
    ucp_ep_h ep;            /* NULL: not connected */
    ucs_status_t failure;   /* UCS_OK while the peer lives */
};

/* A message under way. */
struct message {
    void *request;
    int rank;
    bool receiving;
    size_t bytes;
};

struct host_transport {
    int rank, world;
    ucp_context_h context;
    ucp_worker_h worker;
    int event_fd;
    struct peer *peers;
    struct message *messages;
    size_t n_messages, room;
};

static int ucx_error(struct pkb_error *err, const char *what, ucs_status_t status)
{
    return pkb_error_set(err, "%s: %s", what, ucs_status_string(status));
}

/* ---- waiting ------------------------------------------------------------------------------------------------------- */

/* One step of waiting; *idle counts the steps without progress. */
static int step(struct host_transport *t, unsigned *idle, struct pkb_error *err)
{
    if (ucp_worker_progress(t->worker) != 0) {
        *idle = 0;
        return 0;
    }
    *idle += 1;
    if (*idle < SPINS)
        return 0;
    if (*idle < SPINS + YIELDS) {
        (void)sched_yield();
        return 0;
    }
    ucs_status_t status = ucp_worker_arm(t->worker);
    if (status == UCS_ERR_BUSY)
        return 0;
    if (status != UCS_OK)
        return ucx_error(err, "waiting", status);
    struct pollfd p = {.fd = t->event_fd, .events = POLLIN};
    (void)poll(&p, 1, SLEEP_MS);
    return 0;
}

/* Waits for one request of UCX itself, up to a deadline. */
static void finish(struct host_transport *t, ucs_status_ptr_t request, int64_t deadline)
{
    unsigned idle = 0;
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && pkb_now_ns() < deadline) {
        if (step(t, &idle, NULL))
            break;
    }
    ucp_request_free(request);
}

/* ---- opening ------------------------------------------------------------------------------------------------------- */

/* Between processes of a node. AddressSanitizer (gcc 13 and later) takes what CMA reads of another process for writes into this one. */
#if PKB_SANITIZERS
#define NEAR "posix,self"
#else
#define NEAR "posix,cma,self"
#endif

/* Variables of the environment (UCX_TLS=...) win, for those who look for a problem. */
static int configure(ucp_config_t *config, bool several_nodes, struct pkb_error *err)
{
    const char *const settings[][2] = {
        {"TLS", several_nodes ? NEAR ",tcp" : NEAR},
        {"MEMTYPE_CACHE", "n"},
        {"KEEPALIVE_INTERVAL", "1s"},
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "UCX_%s", settings[i][0]);
        if (getenv(name))
            continue;
        ucs_status_t status = ucp_config_modify(config, settings[i][0], settings[i][1]);
        if (status != UCS_OK)
            return ucx_error(err, settings[i][0], status);
    }
    return 0;
}

static bool several_nodes(const struct rt_options *o)
{
    for (int i = 1; o->node_of_rank && i < o->world; i++) {
        if (o->node_of_rank[i] != o->node_of_rank[0])
            return true;
    }
    return false;
}

static int open_context(struct host_transport *t, const struct rt_options *o, struct pkb_error *err)
{
    ucp_config_t *config;
    /* Half a megabyte of /dev/shm per rank instead of four, and a faster start; transports take settings from here alone. */
    if (setenv("UCX_POSIX_RX_BUFS_GROW", "64", 0))
        return pkb_error_errno(err, "environment");
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK)
        return ucx_error(err, "configuration", status);
    if (configure(config, several_nodes(o), err)) {
        ucp_config_release(config);
        return -1;
    }
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
        .estimated_num_eps = (size_t)o->world,
    };
    status = ucp_init(&params, config, &t->context);
    ucp_config_release(config);
    return status == UCS_OK ? 0 : ucx_error(err, "context", status);
}

static int open_worker(struct host_transport *t, struct pkb_error *err)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    ucs_status_t status = ucp_worker_create(t->context, &params, &t->worker);
    if (status != UCS_OK)
        return ucx_error(err, "worker", status);
    status = ucp_worker_get_efd(t->worker, &t->event_fd);
    return status == UCS_OK ? 0 : ucx_error(err, "event descriptor", status);
}

/* What a rank tells the others first: the size of its address, or why it has none. */
struct hello {
    uint64_t size;
    char failure[248];
};

static int exchange_sizes(const struct rt_options *o, const struct hello *mine, struct hello *all, size_t *largest,
                          struct pkb_error *err)
{
    *largest = 0;
    if (o->exchange(o->exchange_arg, mine, sizeof(*mine), all, err))
        return -1;
    for (int i = 0; i < o->world; i++) {
        if (all[i].size == 0)
            return pkb_error_set(err, "UCX on rank %d: %.240s", i, all[i].failure);
        if (all[i].size > *largest)
            *largest = all[i].size;
    }
    return 0;
}

static int keep_addresses(struct host_transport *t, const char *all, size_t pitch, struct pkb_error *err)
{
    for (int i = 0; i < t->world; i++) {
        t->peers[i].address = malloc(pitch);
        if (!t->peers[i].address)
            return pkb_error_set(err, "out of memory");
        memcpy(t->peers[i].address, all + (size_t)i * pitch, pitch);
    }
    return 0;
}

/* Two exchanges: sizes, then addresses padded to the largest. */
static int exchange_addresses(struct host_transport *t, const struct rt_options *o, const ucp_address_t *address,
                              const struct hello *mine, struct pkb_error *err)
{
    size_t world = (size_t)o->world, pitch = 0;
    struct hello *hellos = calloc(world, sizeof(*hellos));
    char *padded = NULL, *all = NULL;
    int rc = hellos ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0)
        rc = exchange_sizes(o, mine, hellos, &pitch, err);
    if (rc == 0) {
        padded = calloc(1, pitch);
        all = calloc(world, pitch);
        rc = padded && all ? 0 : pkb_error_set(err, "out of memory");
    }
    if (rc == 0) {
        memcpy(padded, address, (size_t)mine->size);
        rc = o->exchange(o->exchange_arg, padded, pitch, all, err);
    }
    if (rc == 0)
        rc = keep_addresses(t, all, pitch, err);
    free(hellos);
    free(padded);
    free(all);
    return rc;
}

static int start(struct host_transport *t, const struct rt_options *o, struct pkb_error *err)
{
    ucp_address_t *address = NULL;
    size_t size = 0;
    struct hello mine = {0};
    struct pkb_error own;
    ucs_status_t status = UCS_OK;
    int rc = open_context(t, o, &own);
    if (rc == 0)
        rc = open_worker(t, &own);
    if (rc == 0) {
        status = ucp_worker_get_address(t->worker, &address, &size);
        rc = status == UCS_OK ? 0 : ucx_error(&own, "address", status);
    }
    if (rc)
        (void)snprintf(mine.failure, sizeof(mine.failure), "%.240s", own.text);
    mine.size = rc ? 0 : size;
    rc = exchange_addresses(t, o, address, &mine, err);
    if (address)
        ucp_worker_release_address(t->worker, address);
    return rc;
}

static void transport_close(struct host_transport *t);

static int transport_open(const struct rt_options *o, struct host_transport **out, struct pkb_error *err)
{
    struct host_transport *t = calloc(1, sizeof(*t));
    *out = NULL;
    if (!t)
        return pkb_error_set(err, "out of memory");
    t->rank = o->rank;
    t->world = o->world;
    t->peers = calloc((size_t)o->world, sizeof(*t->peers));
    if (!t->peers) {
        free(t);
        return pkb_error_set(err, "out of memory");
    }
    for (int i = 0; i < o->world; i++)
        t->peers[i].remote = o->node_of_rank && o->node_of_rank[i] != o->node_of_rank[o->rank];
    if (start(t, o, err)) {
        transport_close(t);
        return -1;
    }
    *out = t;
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------------------------------ */

static void peer_failed(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct peer *peer = arg;
    (void)ep;
    peer->failure = status;
}

/* UCX notices the death of peers on other nodes; its shared memory transport cannot. */
static int connect_peer(struct host_transport *t, int rank, struct pkb_error *err)
{
    struct peer *peer = &t->peers[rank];
    if (peer->failure != UCS_OK)
        return pkb_error_set(err, "rank %d is gone: %s", rank, ucs_status_string(peer->failure));
    if (peer->ep)
        return 0;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = peer->address,
        .err_mode = peer->remote ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE,
        .err_handler = {.cb = peer_failed, .arg = peer},
    };
    ucs_status_t status = ucp_ep_create(t->worker, &params, &peer->ep);
    if (status != UCS_OK) {
        peer->ep = NULL;
        return pkb_error_set(err, "connecting to rank %d: %s", rank, ucs_status_string(status));
    }
    free(peer->address);
    peer->address = NULL;
    return 0;
}

static int make_room(struct host_transport *t, struct pkb_error *err)
{
    if (t->n_messages < t->room)
        return 0;
    size_t room = t->room ? 2 * t->room : 64;
    struct message *messages = realloc(t->messages, room * sizeof(*messages));
    if (!messages)
        return pkb_error_set(err, "out of memory");
    t->messages = messages;
    t->room = room;
    return 0;
}

static int transport_send(struct host_transport *t, int rank, uint64_t tag, const void *data, size_t bytes, struct pkb_error *err)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t full = (uint64_t)t->rank << HOST_TAG_BITS | tag;
    if (connect_peer(t, rank, err) || make_room(t, err))
        return -1;
    ucs_status_ptr_t request = ucp_tag_send_nbx(t->peers[rank].ep, data, bytes, full, &param);
    if (UCS_PTR_IS_ERR(request))
        return pkb_error_set(err, "sending to rank %d: %s", rank, ucs_status_string(UCS_PTR_STATUS(request)));
    if (request)
        t->messages[t->n_messages++] = (struct message){request, rank, false, bytes};
    return 0;
}

static int transport_recv(struct host_transport *t, int rank, uint64_t tag, void *data, size_t bytes, struct pkb_error *err)
{
    /* Some versions do not tell the length of a message that is complete at once; a request always does. */
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL};
    uint64_t full = (uint64_t)rank << HOST_TAG_BITS | tag;
    /* Connected too, to notice a peer that dies before it sends. */
    if ((t->peers[rank].remote && connect_peer(t, rank, err)) || make_room(t, err))
        return -1;
    ucs_status_ptr_t request = ucp_tag_recv_nbx(t->worker, data, bytes, full, UINT64_MAX, &param);
    if (UCS_PTR_IS_ERR(request))
        return pkb_error_set(err, "receiving from rank %d: %s", rank, ucs_status_string(UCS_PTR_STATUS(request)));
    t->messages[t->n_messages++] = (struct message){request, rank, true, bytes};
    return 0;
}

/* 1: done, 0: under way, -1: failed. */
static int check_message(struct host_transport *t, const struct message *m, struct pkb_error *err)
{
    ucp_tag_recv_info_t info = {.length = m->bytes};
    ucs_status_t status = m->receiving ? ucp_tag_recv_request_test(m->request, &info) : ucp_request_check_status(m->request);
    if (status == UCS_INPROGRESS && t->peers[m->rank].failure != UCS_OK)
        status = t->peers[m->rank].failure;
    if (status == UCS_INPROGRESS)
        return 0;
    if (status == UCS_ERR_MESSAGE_TRUNCATED)
        return pkb_error_set(err, "more than %zu bytes came from rank %d", m->bytes, m->rank);
    if (status != UCS_OK)
        return pkb_error_set(err, "rank %d is gone: %s", m->rank, ucs_status_string(status));
    if (info.length != m->bytes)
        return pkb_error_set(err, "%zu bytes came from rank %d, %zu were expected", info.length, m->rank, m->bytes);
    return 1;
}

static void transport_cancel(struct host_transport *t)
{
    int64_t deadline = pkb_now_ns() + CLOSE_NS;
    for (size_t i = 0; i < t->n_messages; i++) {
        if (ucp_request_check_status(t->messages[i].request) == UCS_INPROGRESS)
            ucp_request_cancel(t->worker, t->messages[i].request);
        finish(t, t->messages[i].request, deadline);
    }
    t->n_messages = 0;
}

static int transport_wait(struct host_transport *t, struct pkb_error *err)
{
    unsigned idle = 0;
    size_t done = 0;
    int rc = 0;
    while (done < t->n_messages && rc >= 0) {
        rc = check_message(t, &t->messages[done], err);
        if (rc == 1)
            ucp_request_free(t->messages[done++].request);
        else if (rc == 0)
            rc = step(t, &idle, err);
    }
    memmove(t->messages, t->messages + done, (t->n_messages - done) * sizeof(*t->messages));
    t->n_messages -= done;
    if (rc < 0)
        transport_cancel(t);
    return rc < 0 ? -1 : 0;
}

/* ---- closing ------------------------------------------------------------------------------------------------------- */

static void close_worker(struct host_transport *t)
{
    ucp_request_param_t flush = {.op_attr_mask = 0};
    ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = UCP_EP_CLOSE_FLAG_FORCE};
    int64_t deadline = pkb_now_ns() + CLOSE_NS;
    transport_cancel(t);
    finish(t, ucp_worker_flush_nbx(t->worker, &flush), deadline);
    for (int i = 0; i < t->world; i++) {
        if (t->peers[i].ep && t->peers[i].remote)
            finish(t, ucp_ep_close_nbx(t->peers[i].ep, &force), deadline);
    }
    ucp_worker_destroy(t->worker);
}

static void transport_close(struct host_transport *t)
{
    if (!t)
        return;
    if (t->worker)
        close_worker(t);
    if (t->context)
        ucp_cleanup(t->context);
    for (int i = 0; i < t->world; i++)
        free(t->peers[i].address);
    free(t->peers);
    free(t->messages);
    free(t);
}

extern const struct host_transport_ops pkb_host_transport;

__attribute__((visibility("default"))) const struct host_transport_ops pkb_host_transport = {
    .open = transport_open,
    .close = transport_close,
    .send = transport_send,
    .recv = transport_recv,
    .wait = transport_wait,
    .cancel = transport_cancel,
};
