/* SPDX-License-Identifier: Apache-2.0 */
/* Options that run and resume share. */
#ifndef PKB_ORCHESTRATOR_ENGINE_OPTIONS_H
#define PKB_ORCHESTRATOR_ENGINE_OPTIONS_H

#include <argp.h>

/* A child of argp; its input is a struct engine_options. The launcher's options are a part of it. */
extern const struct argp engine_argp;

#endif
