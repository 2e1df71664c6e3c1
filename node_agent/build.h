/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache: candidate source -> shared object, content-addressed.
 *
 * CACHE/<key>/object.so     the result (absent after a compile error)
 * CACHE/<key>/log           what the compiler said (bounded)
 * CACHE/<key>/build.json    {"format":1,"outcome":"ok"|"compile_error","detail":...,"seconds":...,"command":[...],"compiler":...}
 *
 * The key is the SHA-256 of the source's digest, the flags, the compiler's version line, candidate.h and the processor's features. An
 * entry is made in a temporary folder CACHE/tmp.* and renamed, so that builders may race and a killed one leaves nothing half
 * done; temporary folders that no builder can still be using are removed by later ones.
 */
#ifndef PKB_NODE_AGENT_BUILD_H
#define PKB_NODE_AGENT_BUILD_H

#include <stdbool.h>

#include "util/digest.h"
#include "util/error.h"

/* How candidates of one kind are compiled on this machine. */
struct build_toolchain {
    char kind[4];                /* "c" */
    char *compiler;              /* absolute path: $PKB_CC, else cc found on PATH */
    char *version;               /* first line of its --version */
    char **flags;                /* NULL-terminated */
    char include[4096];          /* folder of <pkb/candidate.h> */
    char header[PKB_DIGEST_HEX]; /* digest of candidate.h */
    char cpu[PKB_DIGEST_HEX];    /* digest of the processor's features, which -march=native depends on */
    int limit_seconds;           /* wall clock of one compilation: 120 */
    long limit_memory_mb;        /* address space of the compiler: 4096 */
};

/* The caller destroys it. NULL with the error set when there is no compiler for the kind ("cu: built without CUDA"). */
struct build_toolchain *build_toolchain_find(const char *kind, struct pkb_error *err);
void build_toolchain_destroy(struct build_toolchain *t);

int build_key(const struct build_toolchain *t, const char *source_digest, char key[PKB_DIGEST_HEX], struct pkb_error *err);

enum build_status {
    BUILD_OK,
    BUILD_COMPILE_ERROR, /* the source's fault: errors, or over the time or memory limit */
    BUILD_ABSENT,        /* not in the cache */
};

struct build_result {
    enum build_status status;
    bool cached;       /* found, not made */
    char object[4096]; /* path of the shared object */
    char log[4096];    /* path of the log */
    char detail[512];  /* first error line of the compiler */
    double seconds;
};

/* Looks up a key. 0 with BUILD_ABSENT when it is not there; -1 when the entry cannot be read. */
int build_lookup(const char *cache, const char *key, struct build_result *r, struct pkb_error *err);

/* Looks up, else compiles `source`, whose content must have this digest (else an error: "changed after planning"). 0: r says how it
 * went; -1: nothing can be said about the source (unreadable, no compiler, disk full). */
int build_candidate(const char *cache, const struct build_toolchain *t, const char *source, const char *digest,
                    struct build_result *r, struct pkb_error *err);

#endif
