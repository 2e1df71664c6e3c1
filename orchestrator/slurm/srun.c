/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/srun.h"

/* A lost rank must not take the others along: they notice by themselves, and agent 0 records what became of the cell. */
static int add_words(const struct launcher *l, const struct launcher_world *w, struct words *command, struct pkb_error *err)
{
    static const char *const fixed[] = {"/usr/bin/env", "srun", "--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--input=none"};
    const struct words *options = l->data;
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (words_add(command, err, "%s", fixed[i]) < 0)
            return -1;
    for (size_t i = 0; i < options->n; i++)
        if (words_add(command, err, "%s", options->list[i]) < 0)
            return -1;
    if (words_add(command, err, "--ntasks=%d", w->ranks) < 0)
        return -1;
    return words_add(command, err, "--error=%s/agent-%%3t.log", w->log_dir);
}

void slurm_srun_launcher(struct launcher *l, const struct words *options)
{
    *l = (struct launcher){.name = "srun", .add_words = add_words, .data = options, .drains = true};
}
