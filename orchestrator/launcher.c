/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/launcher.h"

#include <stdlib.h>

#include "util/paths.h"

static int add_local(const struct launcher *l, const struct launcher_world *w, struct words *command, struct pkb_error *err)
{
    (void)l;
    char *program = pkb_path(PKB_PATH_LIBEXEC, "pkb-launch-local", err);
    int rc = program ? words_add(command, err, "%s", program) : -1;
    free(program);
    if (rc < 0 || words_add(command, err, "--ranks=%d", w->ranks) < 0 || words_add(command, err, "--log=%s", w->log_dir) < 0)
        return -1;
    if (w->hold && words_add(command, err, "--hold=3") < 0)
        return -1;
    return words_add(command, err, "--");
}

const struct launcher launcher_local = {.name = "local", .add_words = add_local};
