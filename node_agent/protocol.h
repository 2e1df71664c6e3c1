/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent and its runner say to each other.
 *
 * The runner is exec'd with a clean environment and these descriptors:
 *     0 /dev/null   1, 2 the log pipe   3 control socket (JSON lines)   4 inputs   5 results   6 status page
 * 4 to 6 are anonymous shared memory (memfd) whose layout both sides compute (node_agent/segment.h).
 *
 * Agent -> runner, one JSON object per line; the runner answers each with one line:
 *     {"do":"start", "role":"reference"|"candidate", "backend":"host", "rank":R, "world":W, "node_of_rank":[...], "device":D,
 *      "setting":{...}, "samples":S, "timed_sets":T, "object":PATH, "shm_prefix":"/pkb.x"}
 *                       opens the device; a candidate is loaded and its pkb_setup called
 *     {"do":"trials"}   reference: makes the inputs of all sets (trials, then timed sets) and computes outputs and tolerances of all;
 *                       candidate: per trial poisons the outputs, calls, stores outputs and inputs as they are afterwards
 *     {"do":"time", "warmup":N, "iterations":M, "sample":[i, ...]}
 *                       timed loop over the timed sets; outputs and inputs of the sampled iterations are stored in the sample slots.
 *                       "iterations":0 warms up only: the agent sends the warm-up as a command of its own, so that its wall
 *                       clock around the second one brackets timed iterations alone
 *     {"do":"quit"}     pkb_teardown, exit 0
 * Runner -> agent:
 *     {"did":"start", "device_name":TEXT, "seconds":{"device":X, "connect":X, "buffers":X, "load":X}} {"did":"trials"} {"did":"time", "ns":[M numbers], "total_ns":N}
 *     {"failed":OUTCOME, "detail":TEXT}                      then the runner exits
 *     {"exchange":HEX}                                       wants every rank's blob; the agent answers {"all":[HEX, ...]}
 *
 * A runner's word is not trusted: every message is validated, sizes are bounded (PROTOCOL_MAX_LINE), and only the agent's own
 * comparison and clock decide.
 */
#ifndef PKB_NODE_AGENT_PROTOCOL_H
#define PKB_NODE_AGENT_PROTOCOL_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdint.h>

#include "util/error.h"

#define PROTOCOL_SOCKET 3
#define PROTOCOL_INPUTS 4
#define PROTOCOL_RESULTS 5
#define PROTOCOL_STATUS 6
#define PROTOCOL_MAX_LINE (16 << 20)
#define PROTOCOL_MAX_BLOB (1 << 20)

/* What a runner is doing, for the text about a hang or crash. Written by the runner into the status page. */
enum runner_stage {
    STAGE_STARTING,
    STAGE_SETUP,    /* in pkb_setup */
    STAGE_SOLUTION, /* in pkb_solution (or reference) */
    STAGE_BARRIER,  /* waiting in a barrier, whoever called it */
    STAGE_ALLOC,    /* waiting in symm_alloc */
    STAGE_IDLE,     /* between commands */
    STAGE_ENGINE,   /* the runner's own work: copies, inputs, poison */
    STAGE_WAIT,     /* waiting for work that the device was given, the solution's included */
    STAGE_TEARDOWN,
    STAGE_COUNT
};

#define RUNNER_NO_CALL 0xffffffffu

struct runner_status {
    _Atomic uint32_t stage;
    _Atomic uint32_t call;          /* number of the call: trial, then iteration; RUNNER_NO_CALL outside calls */
    _Atomic uint32_t timed;         /* 1: in the timed loop */
    _Atomic uint32_t alloc_refused; /* 1: an allocation of the process has failed */
};

/* "in pkb_solution, trial 2" */
void runner_status_describe(const struct runner_status *s, char *text, size_t size);

/* ---- JSON lines over a socket (node_agent/lines.c), used by both sides ------------------------------------------------ */

struct lines; /* a connection with its input buffer */

/* Takes over the descriptor. */
struct lines *lines_create(int fd, struct pkb_error *err);
void lines_destroy(struct lines *l);
int lines_fd(const struct lines *l);

/* Sends one object; the line may be long, so this blocks until the peer has read it, at most timeout_ms (-1: for ever). After a
 * failure part of the line may have been sent: the connection is of no use any more. */
int lines_send(struct lines *l, const json_t *value, int timeout_ms, struct pkb_error *err);

/* The next object. 1: got one (caller decrefs *value); 0: nothing complete within timeout_ms (0: do not wait); -1: error or not
 * JSON; -2: the peer has closed. */
int lines_receive(struct lines *l, int timeout_ms, json_t **value, struct pkb_error *err);

/* Lower-case hexadecimal of a blob as a JSON string (NULL when memory runs out or it is longer than a line), and back: -1 when
 * malformed or above `limit` bytes, else the caller frees *data. */
json_t *protocol_hex_encode(const void *data, size_t size);
int protocol_hex_decode(const json_t *value, size_t limit, void **data, size_t *size, struct pkb_error *err);

#endif
