/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of backends: plugins that are linked to a library which most runs do not need, loaded at the first need. */
#ifndef PKB_RUNTIME_MODULE_H
#define PKB_RUNTIME_MODULE_H

#include "util/error.h"

/* Loads `name` ("host_blas.so") from the plugin folder and returns its table `symbol`. It stays loaded. NULL with the error set. */
const void *rt_module(const char *name, const char *symbol, struct pkb_error *err);

#endif
