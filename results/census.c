/* SPDX-License-Identifier: Apache-2.0 */
/* What the words of a source say. */
#include "results/census.h"

#include <ctype.h>
#include <string.h>

#include "results/census_words.h"

static void note(struct census *c, enum mechanism m, const struct word *word)
{
    census_note(c, m, word->text, word->size, word->line, false);
}

static bool begins(const struct word *word, const char *prefix)
{
    size_t n = strlen(prefix);
    return word->size >= n && memcmp(word->text, prefix, n) == 0;
}

static bool in_list(const struct word *word, const char *const *list)
{
    for (; *list; list++)
        if (word_is(word, *list))
            return true;
    return false;
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

/* Functions whose names start like the copies', and not types or directions. */
static bool is_copy(const struct word *word)
{
    static const char *const prefixes[] = {"cudaMemcpy", "cuMemcpy", "cudaGraphAddMemcpyNode"};
    static const char *const others[] = {"cudaMemcpyKind",
                                         "cudaMemcpyHostToHost",
                                         "cudaMemcpyHostToDevice",
                                         "cudaMemcpyDeviceToHost",
                                         "cudaMemcpyDeviceToDevice",
                                         "cudaMemcpyDefault",
                                         "cudaMemcpyNodeParams",
                                         "cudaMemcpyAttributes",
                                         "cudaMemcpy3DParms",
                                         "cudaMemcpy3DPeerParms",
                                         "cudaMemcpy3DOperand",
                                         "cudaMemcpySrcAccessOrder",
                                         "cudaMemcpy3DBatchOp",
                                         "cudaMemcpy3DOperandType",
                                         "cudaMemcpyFlagDefault",
                                         "cudaMemcpyFlagPreferOverlapWithCompute",
                                         NULL};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (!begins(word, prefixes[i]))
            continue;
        size_t n = strlen(prefixes[i]);
        char next = word->size > n ? word->text[n] : 'A';
        return (isupper((unsigned char)next) || isdigit((unsigned char)next) || next == '_') && !in_list(word, others);
    }
    return false;
}

static bool is_nccl(const struct word *word)
{
    static const char *const names[] = {
        "ncclAllReduce", "ncclBroadcast", "ncclBcast",  "ncclReduce",  "ncclAllGather",     "ncclSend",       "ncclRecv",
        "ncclAllToAll",  "ncclAlltoAll",  "ncclGather", "ncclScatter", "ncclReduceScatter", "pncclAllReduce", NULL};
    return in_list(word, names);
}

static bool is_tma(const struct word *word)
{
    static const char *const names[] = {"cuTensorMapEncodeTiled",
                                        "cuTensorMapEncodeIm2col",
                                        "cuTensorMapReplaceAddress",
                                        "CUtensorMap",
                                        "make_tensor_descriptor",
                                        "_experimental_make_tensor_descriptor",
                                        "_experimental_descriptor_load",
                                        "_experimental_descriptor_store",
                                        NULL};
    return in_list(word, names) || begins(word, "cp_async_bulk") || begins(word, "cp_reduce_async_bulk") ||
           begins(word, "SM90_TMA_") || begins(word, "SM100_TMA_");
}

static bool is_multimem(const struct word *word)
{
    static const char *const names[] = {"multimem_ld_reduce",
                                        "multimem_st",
                                        "multimem_red",
                                        "multimem_all_reduce_",
                                        "multimem_all_gather_out",
                                        "multimem_one_shot_all_reduce",
                                        "cuMulticastCreate",
                                        "cuMulticastBindMem",
                                        "cuMulticastBindAddr",
                                        "multicast_ptr",
                                        NULL};
    return in_list(word, names);
}

/* Handles of other ranks' memory in torch's and NVSHMEM's interfaces. */
static bool is_remote(const struct word *word)
{
    static const char *const names[] = {"buffer_ptrs", "buffer_ptrs_dev", "get_remote_tensor", "nvshmem_ptr", NULL};
    return in_list(word, names);
}

static bool is_device_code(const struct word *word)
{
    static const char *const names[] = {"__global__", "__device__", "triton", NULL};
    return in_list(word, names);
}

static void read_ptx(struct census *c, const struct word *word)
{
    c->device_code = true;
    if (begins(word, "multimem."))
        note(c, MECHANISM_MULTIMEM, word);
    else if (begins(word, "cp.async.bulk") || begins(word, "cp.reduce.async.bulk"))
        note(c, MECHANISM_TMA, word);
    else if (begins(word, "ld.") || begins(word, "st.") || begins(word, "red.") || begins(word, "atom."))
        if (memmem(word->text, word->size, ".sys", 4)) /* the scope of other devices */
            note(c, MECHANISM_PEER, word);
}

/* ---- the words around ---------------------------------------------------------------------------------------------- */

struct reading {
    const struct source_words *w;
    struct census *c;
    size_t i;
    int copy_depth; /* of parentheses inside the arguments of a copy; 0: not inside */
    bool copy_starts;
    const struct word *alias; /* of torch.distributed */
};

/* The live word `offset` away, or NULL. Words of another macro are no neighbours. */
static const struct word *neighbour(const struct reading *r, int offset)
{
    size_t i = r->i + (size_t)offset;
    if (i >= r->w->n || r->w->items[i].macro != r->w->items[r->i].macro)
        return NULL;
    return &r->w->items[i];
}

static bool neighbour_is(const struct reading *r, int offset, const char *text)
{
    const struct word *word = neighbour(r, offset);
    return word && word_is(word, text);
}

static bool is_member(const struct reading *r)
{
    return neighbour_is(r, -1, ".") || neighbour_is(r, -1, "->");
}

/* symm.peers or peers[q]; a parameter or variable of that name alone says nothing. A copy engine may be what uses it. */
static bool is_peer(const struct reading *r, const struct word *word)
{
    if (is_remote(word))
        return true;
    return r->copy_depth == 0 && word_is(word, "peers") && (is_member(r) || neighbour_is(r, 1, "["));
}

/* `import torch.distributed as X`. */
static void read_import(struct reading *r)
{
    const struct word *alias = neighbour(r, 4);
    if (neighbour_is(r, 1, ".") && neighbour_is(r, 2, "distributed") && neighbour_is(r, 3, "as") && alias)
        r->alias = alias;
}

/* dist.all_reduce, torch.distributed.all_reduce */
static bool is_torch_collective(const struct reading *r, const struct word *word)
{
    static const char *const names[] = {"all_reduce",
                                        "all_gather",
                                        "all_gather_into_tensor",
                                        "reduce_scatter",
                                        "broadcast",
                                        "reduce_scatter_tensor",
                                        "all_to_all_single",
                                        "all_to_all",
                                        "all_reduce_coalesced",
                                        "send",
                                        "recv",
                                        "isend",
                                        "irecv",
                                        "batch_isend_irecv",
                                        "reduce",
                                        "gather",
                                        "scatter",
                                        NULL};
    const struct word *module = neighbour(r, -2);
    if (!neighbour_is(r, -1, ".") || !module || !in_list(word, names))
        return false;
    if (word_is(module, "dist") || word_is(module, "distributed"))
        return true;
    return r->alias && module->size == r->alias->size && memcmp(module->text, r->alias->text, module->size) == 0;
}

static void read_name(struct reading *r, const struct word *word, bool python)
{
    if (is_device_code(word))
        r->c->device_code = true;
    if (is_copy(word)) {
        note(r->c, MECHANISM_COPY_ENGINE, word);
        r->copy_starts = r->copy_depth == 0;
        return;
    }
    r->copy_starts = false;
    if (is_nccl(word) || (python && is_torch_collective(r, word)))
        note(r->c, MECHANISM_NCCL, word);
    else if (is_tma(word))
        note(r->c, MECHANISM_TMA, word);
    else if (is_multimem(word) || (word_is(word, "multicast") && is_member(r)))
        note(r->c, MECHANISM_MULTIMEM, word);
    else if (is_peer(r, word))
        note(r->c, MECHANISM_PEER, word);
    else if (python && word_is(word, "torch"))
        read_import(r);
}

/* Where the arguments of a copy begin and end. */
static void read_other(struct reading *r, const struct word *word)
{
    bool opens = word_is(word, "("), closes = word_is(word, ")");
    if (r->copy_starts && opens)
        r->copy_depth = 1;
    else if (r->copy_depth > 0)
        r->copy_depth += opens - closes;
    if (word_is(word, ";") || word_is(word, "{"))
        r->copy_depth = 0;
    r->copy_starts = false;
}

static void read_words(const struct source_words *w, bool python, struct census *c)
{
    struct reading r = {.w = w, .c = c};
    for (r.i = 0; r.i < w->n; r.i++) {
        const struct word *word = &w->items[r.i];
        if (!word_is_live(w, word))
            continue;
        if (word->kind == WORD_PTX)
            read_ptx(c, word);
        else if (word->kind == WORD_NAME)
            read_name(&r, word, python);
        else
            read_other(&r, word);
    }
}

int census_source(const char *text, size_t size, const char *kind, struct census *c, struct pkb_error *err)
{
    struct source_words w;
    bool python = strcmp(kind, "py") == 0;
    if (size > CENSUS_MAX_SOURCE)
        return pkb_error_set(err, "the source has %zu bytes, more than %zu", size, CENSUS_MAX_SOURCE);
    int rc = python ? source_words_of_python(text, size, &w, err) : source_words_of_c(text, size, &w, err);
    if (rc < 0)
        return -1;
    rc = source_words_mark_used(&w, err);
    if (rc == 0)
        read_words(&w, python, c);
    source_words_clear(&w);
    return rc;
}
