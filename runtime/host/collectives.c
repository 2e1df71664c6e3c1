/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that move data: blocks go directly to where they belong. */
#include <string.h>

#include "runtime/host/comm.h"

static void copy_own(void *dst, const void *src, size_t bytes)
{
    if (dst != src && bytes > 0)
        memmove(dst, src, bytes);
}

/* The i-th member after this one: members start with different peers. */
static int partner(const struct rt_comm *c, int i)
{
    return (c->g->rank + i) % c->g->size;
}

/* ---- broadcast, barrier -------------------------------------------------------------------------------------------- */

/* A binomial tree over the places counted from the root: place p gets from p without its lowest bit, and gives to p + bit for all
 * lower bits. */
int host_broadcast(struct rt_comm *c, int dtype, void *data, size_t count, int root, struct pkb_error *err)
{
    int n = c->g->size, place = (c->g->rank - root + n) % n, bit = 1;
    size_t bytes = count * dtype_size(dtype);
    comm_begin(c);
    while (bit < n && !(place & bit))
        bit <<= 1;
    if (place != 0 && (comm_recv(c, PHASE_FIRST, (place - bit + root) % n, data, bytes, err) || comm_wait(c, err)))
        return -1;
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (place + bit < n && comm_send(c, PHASE_FIRST, (place + bit + root) % n, data, bytes, err))
            return -1;
    }
    return comm_wait(c, err);
}

/* After step s everybody has heard, directly or not, of the 2^(s+1) - 1 members before. */
int comm_barrier(struct rt_comm *c, enum comm_phase phase, struct pkb_error *err)
{
    int n = c->g->size;
    for (int distance = 1; distance < n; distance *= 2) {
        comm_begin(c);
        if (comm_recv(c, phase, partner(c, n - distance), NULL, 0, err) ||
            comm_send(c, phase, partner(c, distance), NULL, 0, err) || comm_wait(c, err))
            return -1;
    }
    return 0;
}

int host_barrier(struct rt_comm *c, struct pkb_error *err)
{
    return comm_barrier(c, PHASE_FIRST, err);
}

/* ---- gather, scatter ----------------------------------------------------------------------------------------------- */

int host_all_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    comm_begin(c);
    for (int i = 1; i < c->g->size; i++) {
        int from = partner(c, c->g->size - i);
        if (comm_recv(c, PHASE_FIRST, from, (char *)dst + (size_t)from * bytes, bytes, err))
            return -1;
    }
    for (int i = 1; i < c->g->size; i++) {
        if (comm_send(c, PHASE_FIRST, partner(c, i), src, bytes, err))
            return -1;
    }
    copy_own((char *)dst + (size_t)c->g->rank * bytes, src, bytes);
    return comm_wait(c, err);
}

int host_gather(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    comm_begin(c);
    if (c->g->rank != root)
        return comm_send(c, PHASE_FIRST, root, src, bytes, err) ? -1 : comm_wait(c, err);
    for (int i = 1; i < c->g->size; i++) {
        int from = partner(c, i);
        if (comm_recv(c, PHASE_FIRST, from, (char *)dst + (size_t)from * bytes, bytes, err))
            return -1;
    }
    copy_own((char *)dst + (size_t)root * bytes, src, bytes);
    return comm_wait(c, err);
}

int host_scatter(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, int root, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype);
    comm_begin(c);
    if (c->g->rank != root)
        return comm_recv(c, PHASE_FIRST, root, dst, bytes, err) ? -1 : comm_wait(c, err);
    for (int i = 1; i < c->g->size; i++) {
        int to = partner(c, i);
        if (comm_send(c, PHASE_FIRST, to, (const char *)src + (size_t)to * bytes, bytes, err))
            return -1;
    }
    copy_own(dst, (const char *)src + (size_t)root * bytes, bytes);
    return comm_wait(c, err);
}

/* ---- all to all ---------------------------------------------------------------------------------------------------- */

int host_all_to_all(struct rt_comm *c, int dtype, void *dst, const void *src, size_t count, struct pkb_error *err)
{
    size_t bytes = count * dtype_size(dtype), own = (size_t)c->g->rank * bytes;
    comm_begin(c);
    for (int i = 1; i < c->g->size; i++) {
        int from = partner(c, c->g->size - i);
        if (comm_recv(c, PHASE_FIRST, from, (char *)dst + (size_t)from * bytes, bytes, err))
            return -1;
    }
    for (int i = 1; i < c->g->size; i++) {
        int to = partner(c, i);
        if (comm_send(c, PHASE_FIRST, to, (const char *)src + (size_t)to * bytes, bytes, err))
            return -1;
    }
    copy_own((char *)dst + own, (const char *)src + own, bytes);
    return comm_wait(c, err);
}

/* Rows before a member's. */
static size_t rows_before(const int64_t *rows, int member)
{
    size_t sum = 0;
    for (int i = 0; i < member; i++)
        sum += (size_t)rows[i];
    return sum;
}

/* Empty blocks are sent too, so that ranks that disagree on a size find out. */
int host_all_to_all_v(struct rt_comm *c, int dtype, void *dst, const int64_t *recv_rows, const void *src,
                      const int64_t *send_rows, size_t row, struct pkb_error *err)
{
    size_t bytes = row * dtype_size(dtype);
    int own = c->g->rank;
    if (recv_rows[own] != send_rows[own])
        return pkb_error_set(err, "%lld rows for this rank itself, %lld expected", (long long)send_rows[own],
                             (long long)recv_rows[own]);
    comm_begin(c);
    for (int i = 1; i < c->g->size; i++) {
        int from = partner(c, c->g->size - i);
        char *at = (char *)dst + rows_before(recv_rows, from) * bytes;
        if (comm_recv(c, PHASE_FIRST, from, at, (size_t)recv_rows[from] * bytes, err))
            return -1;
    }
    for (int i = 1; i < c->g->size; i++) {
        int to = partner(c, i);
        const char *at = (const char *)src + rows_before(send_rows, to) * bytes;
        if (comm_send(c, PHASE_FIRST, to, at, (size_t)send_rows[to] * bytes, err))
            return -1;
    }
    copy_own((char *)dst + rows_before(recv_rows, own) * bytes, (const char *)src + rows_before(send_rows, own) * bytes,
             (size_t)send_rows[own] * bytes);
    return comm_wait(c, err);
}
