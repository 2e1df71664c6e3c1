/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the runtime's front end; nobody else includes this. */
#ifndef PKB_RUNTIME_FRONT_H
#define PKB_RUNTIME_FRONT_H

#include "runtime/arena.h"
#include "runtime/backend.h"

/* A group with the backend's part, which is opened at the first collective. */
struct group {
    struct rt_group g;
    int *ranks;
    struct rt_comm *comm; /* NULL: not opened */
    struct group *next;
};

/* A message of a rank to itself, which the front end copies. */
struct self_message {
    const struct rt_group *g;
    pkb_tensor t;
};
#define SELF_MESSAGES 16 /* between rt_p2p_begin and rt_p2p_end */

struct rt {
    void *plugin;
    const struct rt_backend *be;
    struct rt_device *dev;
    struct rt_options options; /* with copies of what it pointed to */
    int *node_of_rank;
    char *shm_prefix;
    bool failed;
    struct pkb_error failure;
    struct arena *temporaries; /* until rt_release_all */
    struct arena *kept;        /* until rt_close */
    struct arena *kept_shared; /* the same, readable by the host */
    struct group *groups;
    const struct rt_group *world;
    bool connected; /* comm_setup was called */
    bool in_p2p;
    struct self_message sends[SELF_MESSAGES], recvs[SELF_MESSAGES];
    int n_sends, n_recvs;
    int n_events;
};

/* Keeps the first failure: "name: text". */
void front_fail(struct rt *rt, const char *name, const struct pkb_error *err);

/* "bf16[24, 72]" */
struct form_text {
    char text[160];
};
struct form_text front_form(const pkb_tensor *t);

/* 0 when `t` is there and has a valid form and storage; else -1 with the error set ("<what> is missing"). */
int front_check(const pkb_tensor *t, const char *what, struct pkb_error *err);

/* Elements of a tensor that front_check has accepted. */
int64_t front_numel(const pkb_tensor *t);

/* Both have elements and start at the same address. */
bool front_shares(const pkb_tensor *a, const pkb_tensor *b);

/* dst has the operand's shape; else -1 with the error set. */
int front_same_shape(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);

/* An operand may be overwritten only element by element: same address means same element size and shape. */
int front_alias(const pkb_tensor *dst, const pkb_tensor *a, struct pkb_error *err);

/* Makes an axis that may count from the end one of 0..ndim-1. */
int front_axis(const pkb_tensor *t, int *axis, struct pkb_error *err);

/* Sets up communication between all ranks unless that has happened; 0 or -1. */
int front_connect(struct rt *rt, struct pkb_error *err);

/* The backend's part of a group of more than one member, opened at its first use. */
int front_comm(struct rt *rt, const struct rt_group *g, struct rt_comm **comm, struct pkb_error *err);

/* A group is there; `place` ("root", "peer") is one of its members. */
int front_group(const struct rt_group *g, struct pkb_error *err);
int front_place(const struct rt_group *g, const char *what, int place, struct pkb_error *err);

#endif
