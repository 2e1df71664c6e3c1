/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache: candidate source -> shared object, content-addressed.
 *
 * CACHE/<key>/object.so     the result (absent after a compile error)
 * CACHE/<key>/log           what the compiler said (bounded); for .cu with the assembler's report of registers and memory
 * CACHE/<key>/sass          of .cu objects where cuobjdump is installed: the machine code (bounded)
 * CACHE/<key>/build.json    {"format":1,"outcome":"ok"|"compile_error","detail":...,"seconds":...,"command":[...],"compiler":...}
 *
 * The key is the SHA-256 of the source's digest, the flags (with the GPU architectures of .cu), the version lines of the compiler and of
 * nvcc's host compiler, candidate.h and, for .c, the processor's features. An entry is made in a temporary folder CACHE/tmp.* and renamed, so that builders may race and a killed one leaves nothing half
 * done; temporary folders that no builder can still be using are removed by later ones.
 */
#ifndef PKB_NODE_AGENT_BUILD_H
#define PKB_NODE_AGENT_BUILD_H

#include <stdbool.h>

#include "util/digest.h"
#include "util/error.h"

/* How candidates of one kind are compiled on this machine.
 *
 * c: $PKB_CC, else cc on PATH. cu: $PKB_NVCC, else nvcc on PATH, else the one that pkb was configured with; its host compiler is
 * $PKB_CXX, else c++ on PATH. Machine code is made for $PKB_CUDA_ARCHS ("90a" or "80,90a"), else for the GPUs that are visible
 * here, else for a list that covers the usual ones (and PTX for others). The CUDA runtime is linked as a shared library, as the backend
 * does, so that both see one state. */
struct build_toolchain {
    char kind[4];                /* "c", "cu" */
    char *compiler;              /* absolute path */
    char *version;               /* the line of its --version that tells */
    char *host;                  /* version line of nvcc's host compiler; "" for c */
    char *disassembler;          /* path of cuobjdump; NULL: none */
    char **flags;                /* NULL-terminated */
    char include[4096];          /* folder of <pkb/candidate.h> */
    char header[PKB_DIGEST_HEX]; /* digest of candidate.h */
    char cpu[PKB_DIGEST_HEX];    /* digest of the processor's features, which -march=native depends on; "" for cu */
    int limit_seconds;           /* wall clock of one compilation: 120, for cu 300 */
    long limit_memory_mb;        /* address space of each of the compiler's processes: 4096, for cu 16384 */
};

/* The caller destroys it. NULL with the error set when there is no compiler for the kind ("candidates of kind cu: no nvcc ..."). */
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
