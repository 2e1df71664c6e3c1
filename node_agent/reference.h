/* SPDX-License-Identifier: Apache-2.0 */
/* The reference of one setting: its inputs, what it makes of them, and its times before and after the candidates. Its runners stay
 * alive, idle, while the setting's candidates run. */
#ifndef PKB_NODE_AGENT_REFERENCE_H
#define PKB_NODE_AGENT_REFERENCE_H

#include "node_agent/agent.h"
#include "node_agent/command.h"
#include "node_agent/loop.h"
#include "node_agent/segment.h"

struct reference {
    const struct plan_setting *setting;
    struct problem_setting local; /* of this rank */
    struct segment_layout layout;
    struct segment inputs;   /* sealed */
    struct segment expected; /* results */
    struct runner *runner;
    struct loop before, after;
    struct command_started start;
    double seconds[3]; /* of start, trials and first times */
    char started[24];
    bool ok;
    char failure[1024]; /* why not: cells of the setting are infra_errors */
};

/* Makes a->reference for a setting, after closing another setting's. A failing reference is tried once more; then it is there with its
 * failure. 0, or -1 when the attempt ends. */
int reference_open(struct agent *a, const struct plan_setting *s, struct pkb_error *err);

/* Times the reference again (unless the agent is draining), writes the baseline record and removes a->reference. */
int reference_close(struct agent *a, struct pkb_error *err);

/* Removes it at once. NULL-safe. */
void reference_destroy(struct reference *r);

#endif
