/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate ABI: what a candidate (one implementation of one problem) is given and what it must export.
 *
 * A candidate is compiled to a shared object and loaded into one runner process per rank. It exports
 *
 *     int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out);
 *
 * which computes the problem's outputs from its inputs. It is called many times with different data, on every rank in the
 * same order, and returns 0, or anything else for "failed" (a runtime_error). Optional exports:
 *
 *     int  pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out);   once, before the first call,
 *          on every rank: allocate symmetric memory and workspaces here. Shapes and dtypes are final; the data pointers
 *          are not (every call may get other buffers). Returns 0 or not as above.
 *     void pkb_teardown(const pkb_context *ctx);                                             once, after the last call.
 *
 * Including this header also defines pkb_abi_version, by which the runner knows what the candidate was built against.
 *
 * Rules of a call. `in` and `out` are arrays in the order of the problem's description (`pkb problems show N`). Inputs are
 * row-major, contiguous, and must not be written. Outputs are preallocated with the right shape and filled with a poison
 * pattern; every element must be written. Three marks of a tensor make exceptions:
 *
 *     updated in place   the output's buffer starts as a copy of the input that the description names, at every call. The input
 *                        itself stays as it is.
 *     counted rows       how many entries of the leading dimension count is data: an output's goes into the i64 scalar output
 *                        that the description names, and what lies behind them is not looked at; an input's is in a scalar input, or
 *                        follows from other inputs. The shape has room for the most.
 *     read by the host   the data of this input is an address that the host may read too when pkb_solution is called.
 *
 * All work is either finished on return or enqueued on ctx->stream.
 * A rank must not return while a peer may still read memory that the next call on this rank overwrites: end with a barrier,
 * or alternate between buffers.
 *
 * The same header serves `.c` candidates on the host backend (device pointers are host pointers, stream is NULL) and `.cu`
 * candidates on GPUs.
 */
#ifndef PKB_CANDIDATE_H
#define PKB_CANDIDATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a structure below changes incompatibly. */
#define PKB_ABI_VERSION 1

#define PKB_MAX_DIMS 8

enum pkb_dtype {
    PKB_BF16 = 0,     /* bfloat16: 8 exponent bits, 7 fraction bits */
    PKB_F16 = 1,      /* IEEE binary16 */
    PKB_F32 = 2,      /* IEEE binary32 */
    PKB_F64 = 3,      /* IEEE binary64 */
    PKB_FP8_E4M3 = 4, /* OCP E4M3 ("fn"): no infinities, largest value 448, NaN 0x7f and 0xff */
    PKB_I32 = 5,
    PKB_I64 = 6,
    PKB_U8 = 7,
    PKB_BOOL = 8, /* one byte, 0 or 1 */
};

/* A row-major contiguous tensor. ndim 0 is a scalar with one element; a dimension may be 0. */
typedef struct pkb_tensor {
    void *data;    /* device address (host address on the host backend) */
    int32_t dtype; /* enum pkb_dtype */
    int32_t ndim;
    int64_t shape[PKB_MAX_DIMS]; /* entries from ndim on are 0 */
} pkb_tensor;

/* A named number of the problem: a size (M, N), or a scalar argument (eps, dst). Integers are exact up to 2^53. */
typedef struct pkb_param {
    const char *name;
    double value;
} pkb_param;

/* Symmetric memory: one block of the same size on every rank. */
typedef struct pkb_symm {
    size_t size;        /* bytes */
    void *local;        /* this rank's block, zero-filled, aligned to 256 bytes at least */
    void *const *peers; /* peers[q]: rank q's block in this process's address space, or NULL where rank q is not reachable by
                           loads and stores (another node). peers[rank] == local. */
    void *multicast;    /* address that stores to all peers at once, or NULL */
} pkb_symm;

typedef struct pkb_context pkb_context;

struct pkb_context {
    uint32_t abi_version; /* PKB_ABI_VERSION of the runner */
    uint32_t size;        /* sizeof(pkb_context) of the runner; new members are added at the end */

    int32_t rank, world;             /* this rank and the number of ranks */
    int32_t local_rank, local_world; /* the same among the ranks of this node */
    int32_t node, nodes;             /* this node's index and the number of nodes */
    int32_t device;                  /* device ordinal, -1 on the host backend */
    int32_t n_in, n_out, n_params;

    void *stream;            /* cudaStream_t on GPUs, NULL on the host backend */
    const pkb_param *params; /* n_params named numbers; values may change from call to call */

    /* Collective over all ranks, in the same order with the same size, also where tensors have other shapes on other ranks. Fills
     * *symm. Returns 0, or -1 when memory runs out.
     * The block lives until the runner ends. Not to be called from inside a timed call more often than needed: it is slow. */
    int (*symm_alloc)(const pkb_context *ctx, size_t bytes, pkb_symm *symm);

    /* Barrier over all ranks, ordered with ctx->stream: what any rank did before it (in stream order), stores to peers
     * included, is visible to every rank after it. It may be called in pkb_setup, too. Returns 0, or -1 when the world is
     * broken. */
    int (*barrier)(const pkb_context *ctx);
};

/* Value of a named number, or `fallback` where the problem has none of that name. */
static inline double pkb_param_value(const pkb_context *ctx, const char *name, double fallback)
{
    for (int32_t i = 0; i < ctx->n_params; i++) {
        const char *a = ctx->params[i].name, *b = name;
        while (*a != '\0' && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b)
            return ctx->params[i].value;
    }
    return fallback;
}

#define PKB_EXPORT __attribute__((visibility("default")))

#ifndef PKB_NO_EXPORTS /* set by pkb's own sources, which use the types alone */
PKB_EXPORT extern const uint32_t pkb_abi_version;
PKB_EXPORT __attribute__((weak)) const uint32_t pkb_abi_version = PKB_ABI_VERSION;

PKB_EXPORT int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out);
PKB_EXPORT int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out);
PKB_EXPORT void pkb_teardown(const pkb_context *ctx);
#endif

#ifdef __cplusplus
}
#endif

#endif
