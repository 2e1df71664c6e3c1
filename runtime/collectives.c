/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of collectives and messages. */
#include <inttypes.h>

#include "runtime/front.h"

/* ---- checks -------------------------------------------------------------------------------------------------------- */

/* Both tensors valid, of one dtype, and `big` with n times the elements of `small`. */
static int check_blocks(const pkb_tensor *big, const char *big_name, const pkb_tensor *small, const char *small_name, int n,
                        struct pkb_error *err)
{
    if (front_check(big, big_name, err) || front_check(small, small_name, err))
        return -1;
    int64_t want;
    if (big->dtype != small->dtype || (n == 1 && front_numel(big) != front_numel(small)))
        return pkb_error_set(err, "%s is %s, %s %s", big_name, front_form(big).text, small_name, front_form(small).text);
    if (__builtin_mul_overflow(front_numel(small), (int64_t)n, &want) || front_numel(big) != want)
        return pkb_error_set(err, "%s is %s, %d times %s is needed", big_name, front_form(big).text, n, front_form(small).text);
    if (n > 1 && front_shares(big, small))
        return pkb_error_set(err, "source and destination are the same");
    return 0;
}

static int check_reduction(enum rt_reduction op, struct pkb_error *err)
{
    if ((unsigned)op >= RT_REDUCTION_COUNT)
        return pkb_error_set(err, "%d is no reduction", (int)op);
    return 0;
}

static int copy_unless_same(struct rt *rt, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    return dst->data == src->data ? 0 : rt->be->copy(rt->dev, dst, src, err);
}

/* ---- from one, to all ---------------------------------------------------------------------------------------------- */

static int broadcast(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int root, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || front_check(t, "tensor", err) || front_place(g, "root", root, err))
        return -1;
    if (g->size == 1 || front_numel(t) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->broadcast(comm, t->dtype, t->data, (size_t)front_numel(t), root, err);
}

void rt_broadcast(struct rt *rt, const struct rt_group *g, pkb_tensor *t, int root)
{
    struct pkb_error err;
    if (!rt->failed && broadcast(rt, g, t, root, &err))
        front_fail(rt, "broadcast", &err);
}

static int scatter(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, int root,
                   struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || front_place(g, "root", root, err) || front_check(dst, "destination", err))
        return -1;
    if (g->rank == root && check_blocks(src, "source", dst, "destination", g->size, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(dst) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    const void *from = g->rank == root ? src->data : NULL;
    return rt->be->scatter(comm, dst->dtype, dst->data, from, (size_t)front_numel(dst), root, err);
}

void rt_scatter(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, int root)
{
    struct pkb_error err;
    if (!rt->failed && scatter(rt, g, dst, src, root, &err))
        front_fail(rt, "scatter", &err);
}

static int gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, int root,
                  struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || front_place(g, "root", root, err) || front_check(src, "source", err))
        return -1;
    if (g->rank == root && check_blocks(dst, "destination", src, "source", g->size, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    void *to = g->rank == root ? dst->data : NULL;
    return rt->be->gather(comm, src->dtype, to, src->data, (size_t)front_numel(src), root, err);
}

void rt_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, int root)
{
    struct pkb_error err;
    if (!rt->failed && gather(rt, g, dst, src, root, &err))
        front_fail(rt, "gather", &err);
}

/* ---- reductions ---------------------------------------------------------------------------------------------------- */

static int all_reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src,
                      struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || check_reduction(op, err) || check_blocks(dst, "destination", src, "source", 1, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->all_reduce(comm, op, src->dtype, dst->data, src->data, (size_t)front_numel(src), err);
}

void rt_all_reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    if (!rt->failed && all_reduce(rt, g, op, dst, src, &err))
        front_fail(rt, "all_reduce", &err);
}

static int reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src, int root,
                  struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || check_reduction(op, err) || front_place(g, "root", root, err) || front_check(src, "source", err))
        return -1;
    if (g->rank == root && check_blocks(dst, "destination", src, "source", 1, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    void *to = g->rank == root ? dst->data : NULL;
    return rt->be->reduce(comm, op, src->dtype, to, src->data, (size_t)front_numel(src), root, err);
}

void rt_reduce(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src, int root)
{
    struct pkb_error err;
    if (!rt->failed && reduce(rt, g, op, dst, src, root, &err))
        front_fail(rt, "reduce", &err);
}

static int reduce_scatter(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src,
                          struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || check_reduction(op, err) || check_blocks(src, "source", dst, "destination", g->size, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(dst) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->reduce_scatter(comm, op, src->dtype, dst->data, src->data, (size_t)front_numel(dst), err);
}

void rt_reduce_scatter(struct rt *rt, const struct rt_group *g, enum rt_reduction op, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    if (!rt->failed && reduce_scatter(rt, g, op, dst, src, &err))
        front_fail(rt, "reduce_scatter", &err);
}

/* ---- from all, to all ---------------------------------------------------------------------------------------------- */

static int all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || check_blocks(dst, "destination", src, "source", g->size, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_numel(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->all_gather(comm, src->dtype, dst->data, src->data, (size_t)front_numel(src), err);
}

void rt_all_gather(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    if (!rt->failed && all_gather(rt, g, dst, src, &err))
        front_fail(rt, "all_gather", &err);
}

static int all_to_all(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || check_blocks(dst, "destination", src, "source", 1, err))
        return -1;
    if (g->size == 1)
        return copy_unless_same(rt, dst, src, err);
    if (front_shares(dst, src))
        return pkb_error_set(err, "source and destination are the same");
    if (front_numel(src) % g->size != 0)
        return pkb_error_set(err, "%s does not divide into %d blocks", front_form(src).text, g->size);
    if (front_numel(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->all_to_all(comm, src->dtype, dst->data, src->data, (size_t)(front_numel(src) / g->size), err);
}

void rt_all_to_all(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const pkb_tensor *src)
{
    struct pkb_error err;
    if (!rt->failed && all_to_all(rt, g, dst, src, &err))
        front_fail(rt, "all_to_all", &err);
}

/* Elements of a row of a tensor with rows. */
static int64_t row_elements(const pkb_tensor *t)
{
    pkb_tensor row = *t;
    row.shape[0] = 1;
    return front_numel(&row);
}

static int check_rows(const struct rt_group *g, const pkb_tensor *t, const int64_t *rows, const char *what, struct pkb_error *err)
{
    int64_t sum = 0;
    if (t->ndim < 1)
        return pkb_error_set(err, "%s is a scalar, it has no rows", what);
    for (int i = 0; i < g->size; i++) {
        if (rows[i] < 0)
            return pkb_error_set(err, "%s: %" PRId64 " rows for member %d", what, rows[i], i);
        if (__builtin_add_overflow(sum, rows[i], &sum) || sum > t->shape[0])
            break;
    }
    if (sum > t->shape[0])
        return pkb_error_set(err, "%s is %s, the rows for its %d members are more", what, front_form(t).text, g->size);
    return 0;
}

static int all_to_all_v(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const int64_t *recv_rows, const pkb_tensor *src,
                        const int64_t *send_rows, struct pkb_error *err)
{
    struct rt_comm *comm;
    if (front_group(g, err) || front_check(dst, "destination", err) || front_check(src, "source", err) ||
        check_rows(g, dst, recv_rows, "destination", err) || check_rows(g, src, send_rows, "source", err))
        return -1;
    if (dst->dtype != src->dtype || row_elements(dst) != row_elements(src))
        return pkb_error_set(err, "destination is %s, source %s", front_form(dst).text, front_form(src).text);
    if (front_shares(dst, src))
        return pkb_error_set(err, "source and destination are the same");
    if (g->size == 1) {
        pkb_tensor to = *dst, from = *src;
        if (recv_rows[0] != send_rows[0])
            return pkb_error_set(err, "%" PRId64 " rows sent, %" PRId64 " expected", send_rows[0], recv_rows[0]);
        to.shape[0] = from.shape[0] = send_rows[0];
        return rt->be->copy(rt->dev, &to, &from, err);
    }
    if (row_elements(src) == 0)
        return 0;
    if (front_comm(rt, g, &comm, err))
        return -1;
    return rt->be->all_to_all_v(comm, src->dtype, dst->data, recv_rows, src->data, send_rows, (size_t)row_elements(src), err);
}

void rt_all_to_all_v(struct rt *rt, const struct rt_group *g, pkb_tensor *dst, const int64_t *recv_rows, const pkb_tensor *src,
                     const int64_t *send_rows)
{
    struct pkb_error err;
    if (!rt->failed && all_to_all_v(rt, g, dst, recv_rows, src, send_rows, &err))
        front_fail(rt, "all_to_all_v", &err);
}

void rt_barrier(struct rt *rt, const struct rt_group *g)
{
    struct pkb_error err;
    struct rt_comm *comm;
    if (rt->failed)
        return;
    if (front_group(g, &err))
        front_fail(rt, "barrier", &err);
    else if (g->size > 1 && (front_comm(rt, g, &comm, &err) || rt->be->barrier(comm, &err)))
        front_fail(rt, "barrier", &err);
}
