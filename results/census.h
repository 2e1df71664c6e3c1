/* SPDX-License-Identifier: Apache-2.0 */
/* Mechanism census: by which means a candidate moves data between ranks, as far as its text tells. docs/topology.md lists what
 * counts as evidence.
 *
 * Words of the source count where the compiler would see them: not in comments, strings, `#if 0` or macros that nobody uses. Strings of
 * inline assembly are read as PTX, and strings of Python that hold CUDA sources as such. Machine code, where there is a listing of
 * `cuobjdump --dump-sass`, counts by its instructions.
 */
#ifndef PKB_RESULTS_CENSUS_H
#define PKB_RESULTS_CENSUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

enum mechanism {
    MECHANISM_COPY_ENGINE, /* cudaMemcpy*, cuMemcpy* */
    MECHANISM_PEER,        /* loads and stores through pointers to peers' symmetric memory */
    MECHANISM_TMA,         /* bulk copies: cp.async.bulk, tensor maps */
    MECHANISM_MULTIMEM,    /* NVLS: multimem.*, multicast pointers */
    MECHANISM_NCCL,        /* NCCL's collectives, or torch.distributed's */
    MECHANISM_COUNT
};

/* "copy_engine", "peer", "tma", "multimem", "nccl" */
const char *mechanism_name(enum mechanism m);

struct census_evidence {
    int line; /* of the first word that says so; 0: none does */
    bool sass;
    char word[64];
};

struct census {
    struct census_evidence found[MECHANISM_COUNT];
    bool device_code; /* kernels or inline PTX; without, the candidate is host-only */
};

/* A larger source is not read. */
#define CENSUS_MAX_SOURCE ((size_t)16 << 20)

/* Adds what a source of this kind ("c", "cu" or "py") uses. Only running out of memory and a source that is too large are errors: text
 * that no compiler would accept is read as far as it makes sense. The structure starts zeroed. */
int census_source(const char *text, size_t size, const char *kind, struct census *c, struct pkb_error *err);

/* Adds what a listing of machine code uses. */
void census_sass(const char *text, size_t size, struct census *c);

/* Notes a mechanism, unless there is evidence of it already. */
void census_note(struct census *c, enum mechanism m, const char *word, size_t size, int line, bool sass);

/* Whether a mechanism was found. */
bool census_uses(const struct census *c, enum mechanism m);

/* "peer, tma", "host_only", "peer, host_only", "none" (device code, but no mechanism). */
void census_describe(const struct census *c, char *text, size_t size);

/* {"mechanisms":["peer"],"host_only":false,"evidence":{"peer":{"word":"peers","line":12,"in":"source"}}} (new reference; NULL when
 * memory runs out). */
json_t *census_encode(const struct census *c);

#endif
