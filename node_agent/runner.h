/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of pkb-runner: one process that executes the reference or a candidate of one cell on one rank, on command
 * of its agent (node_agent/protocol.h).
 *
 * Functions return 0, or -1 after runner_fail() has set what happened; main() then tells the agent and ends.
 */
#ifndef PKB_NODE_AGENT_RUNNER_H
#define PKB_NODE_AGENT_RUNNER_H

#include <stdbool.h>

#include "node_agent/protocol.h"
#include "node_agent/segment.h"
#include "problems/problem.h"
#include "results/record.h"
#include "runtime/runtime.h"

#define RUNNER_MAX_ITERATIONS 1000000

/* Exit codes: after a failure that was reported; after a command that makes no sense, or without an agent. */
#define RUNNER_EXIT_FAILED 1
#define RUNNER_EXIT_MALFORMED 2

struct runner;

/* The buffers of one call, on the device. Calls go from frame to frame, so that a pointer tells nothing about the data. */
struct runner_frame {
    pkb_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS];
};

/* The arguments of the call that comes next, made anew for every call since a candidate may scribble over them. */
struct runner_call {
    const struct runner_frame *frame;
    double params[PROBLEM_MAX_PARAMS];
    pkb_tensor in[PROBLEM_MAX_TENSORS], out[PROBLEM_MAX_TENSORS];
    pkb_context context; /* candidate */
    pkb_param named[PROBLEM_MAX_PARAMS];
    struct problem_call reference;
};

/* What differs between executing the reference and a candidate. */
struct runner_role {
    const char *name;
    enum outcome blame;                              /* for a failure of the device or its libraries */
    int (*open)(struct runner *r, const char *path); /* load, pkb_setup */
    void (*prepare)(struct runner *r);               /* completes r->call */
    int (*call)(struct runner *r);                   /* the call itself: its result is the solution's */
    int (*trials)(struct runner *r);
    void (*close)(struct runner *r);
};
extern const struct runner_role runner_reference, runner_candidate;

/* How long the parts of "start" took, in seconds. */
struct runner_took {
    double device;  /* opening it, with its context */
    double connect; /* the ranks to each other */
    double buffers;
    double load; /* the candidate, and its pkb_setup */
};

struct runner {
    struct lines *lines;
    struct runner_status *status;
    const struct runner_role *role; /* NULL before "start" */
    struct problem_setting setting;
    struct segment_layout layout;
    struct segment inputs;  /* read-only */
    struct segment results; /* reference: mapped during trials */
    struct segment page;
    int *node_of_rank; /* world entries */
    int device;        /* -1 on the host backend */
    struct rt *rt;
    struct runner_took took;

    /* Engine. */
    int n_pool, n_frames; /* frames that rotate; with those that take copies of sampled iterations */
    struct runner_frame *frames;
    struct runner_frame *sets; /* `in` of the timed sets, on the device */
    bool sets_loaded;
    struct runner_call call;

    /* Candidate. */
    struct {
        int (*solution)(const pkb_context *, const pkb_tensor *, pkb_tensor *);
        int (*setup)(const pkb_context *, const pkb_tensor *, const pkb_tensor *);
        void (*teardown)(const pkb_context *);
        int32_t local_rank, local_world, node, nodes;
        enum rt_fault fault; /* seen before a service was given, so that the service does not stumble over it */
        struct pkb_error why;
    } candidate;

    /* The first failure. */
    enum outcome outcome;
    struct pkb_error error;
    int exit_code;
};

/* Notes a failure (the first one stays). Returns -1. */
int runner_fail(struct runner *r, enum outcome outcome, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Shows the agent what is being done. runner_enter returns the stage before. */
uint32_t runner_enter(struct runner *r, enum runner_stage stage);
void runner_number(struct runner *r, uint32_t call, bool timed);

/* "start" (runner_start.c): validates the message, opens the device, loads the candidate. */
int runner_start(struct runner *r, const json_t *message);

/* Confines the process to what a candidate needs (util/confine.h), as far as the kernel can: it writes to devices, /dev/shm and the folders
 * of $PKB_CANDIDATE_WRITES ("DIR:DIR"). Before there is a second thread. */
int runner_confine(struct pkb_error *err);

/* ---- engine (runner_engine.c, runner_loop.c) --------------------------------------------------------------------------- */

/* Allocates frames and sets. */
int runner_engine_open(struct runner *r);
void runner_engine_close(struct runner *r);

/* Host addresses inside the segments. */
char *runner_at(const struct segment *seg, size_t stride, int index, size_t offset);
const double *runner_params(const struct runner *r, int set);

/* Enqueues the upload of a set's inputs into tensors. */
void runner_upload_set(struct runner *r, int set, pkb_tensor *in);

/* Makes a frame's outputs ready for a call, once its inputs are there: poison (0xff: NaN in floats), or the values of the input that
 * an output updates in place. */
void runner_ready_outputs(struct runner *r, const struct runner_frame *frame);

/* Waits until the host sees the inputs that it may read, where there are any. */
int runner_settle(struct runner *r);

/* Makes the call's arguments. */
void runner_prepare(struct runner *r, const struct runner_frame *frame, const double *params);

/* The call itself: what the solution returned. */
int runner_call(struct runner *r);

/* Judges what a function of the solution returned, and what it left of the device; a failure is worded ("pkb_solution
 * returned 3 in trial 2"). */
int runner_called(struct runner *r, int rc, const char *function);

/* Stream-ordered barrier over all ranks, shown in the status page. */
void runner_barrier(struct runner *r);

/* What the candidate has left of the device since it was loaded, as rt_foreign_fault. */
enum rt_fault runner_candidate_fault(struct runner *r, struct pkb_error *err);

/* Waits for the device; a failure is the role's blame. */
int runner_sync(struct runner *r, const char *doing);

/* Enqueues the download of what the last call left in a frame into a slot of the candidate results. */
void runner_store(struct runner *r, const struct runner_frame *frame, const pkb_tensor *forms, int slot);

/* "time": the timed loop. On success *ns has `iterations` numbers (the caller frees) and *total_ns the time of the whole loop. */
struct runner_timing {
    int warmup, iterations, n_samples;
    const int *samples; /* distinct iterations */
};
int runner_time(struct runner *r, const struct runner_timing *t, double **ns, int64_t *total_ns);

/* ---- bootstrap (runner_exchange.c): rt_exchange_fn through the agent; arg is the runner ---------------------------------- */
int runner_exchange(void *arg, const void *blob, size_t size, void *all, struct pkb_error *err);

/* ---- memory (runner_memory.c) ------------------------------------------------------------------------------------------- */

/* From now on refused allocations are noted in the status page while the stage is one of the candidate's. */
void runner_memory_watch(struct runner_status *status);

#endif
