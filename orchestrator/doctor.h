/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold before a sweep is worth its allocation: a list of findings, each with what to do about it. */
#ifndef PKB_ORCHESTRATOR_DOCTOR_H
#define PKB_ORCHESTRATOR_DOCTOR_H

#include <jansson.h>

#include "orchestrator/launcher.h"
#include "orchestrator/slurm/settings.h"

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE, /* works, but the user should know */
    DOCTOR_BAD,  /* a sweep would fail */
};

struct doctor_finding {
    enum doctor_state state;
    const char *subject; /* one or two words */
    char text[600];      /* what was found */
    const char *fix;     /* what to do; "" when nothing */
};

struct doctor {
    struct doctor_finding list[64];
    size_t n; /* what finds no room is dropped: there are fewer checks than room */
    int bad;
};

/* Adds a finding. `fix` is a literal. */
void doctor_add(struct doctor *d, enum doctor_state state, const char *subject, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* This machine: compilers, device backends, shared memory, limits. */
void doctor_machine(struct doctor *d);

/* A world of pkb-probe started by a launcher, with `folder` (made if missing) as the shared folder: whether it starts and all ranks
 * are of one build, see the folder and each other's files, agree about the time, and have the memory and GPUs. `gpus`: as many as ranks
 * of a node must be visible. */
struct doctor_world {
    const struct launcher *launcher;
    int ranks;
    const char *folder;
    int seconds; /* that it may take, waiting in a queue included */
    bool gpus;
};
void doctor_start_world(struct doctor *d, const struct doctor_world *w);

/* What the ranks' reports (lines of pkb-probe) say. */
void doctor_judge_reports(struct doctor *d, const struct doctor_world *w, const char *lines);

/* Slurm: the library, slurmctld, srun and its PMIx plugin, then a world of `ranks` on `nodes` nodes under the settings. */
void doctor_slurm(struct doctor *d, const struct slurm_settings *s, int nodes, const char *folder, bool gpus);

void doctor_print(const struct doctor *d);
json_t *doctor_json(const struct doctor *d);

#endif
