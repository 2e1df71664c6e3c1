/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of the environment that change what is measured: those of NCCL and UCX, which choose algorithms and transports, and pkb's
 * own switches of the CUDA backend. Figures of two runs can be compared where these are equal. An allow-list: nothing else of the
 * environment gets into results. */
#ifndef PKB_UTIL_TUNING_H
#define PKB_UTIL_TUNING_H

#include <jansson.h>

/* {"NCCL_ALGO": "Ring", ...} of this process (new reference; NULL when memory runs out). */
json_t *tuning_variables(void);

/* The same as one text, sorted by name: "NCCL_ALGO=Ring NCCL_NVLS_ENABLE=0". The caller frees; NULL when memory runs out. */
char *tuning_text(const json_t *variables);

#endif
