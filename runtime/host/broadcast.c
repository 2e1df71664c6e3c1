/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/broadcast.h"

static void open_operand(struct broadcast_operand *x, const pkb_tensor *t, int ndim)
{
    int64_t stride = 1;
    *x = (struct broadcast_operand){.dtype = t->dtype, .at = t->data, .size = dtype_size(t->dtype)};
    for (int i = t->ndim - 1, j = ndim - 1; i >= 0; i--, j--) {
        x->stride[j] = t->shape[i] == 1 ? 0 : stride;
        stride *= t->shape[i];
    }
}

/* Whether walking dimension `outer` is, for all operands, going on where dimension `inner` (of `extent` entries) ended. */
static bool continues(const struct broadcast *p, int outer, int inner, int64_t extent)
{
    for (int k = 0; k < p->n_operands; k++) {
        if (p->operands[k].stride[outer] != p->operands[k].stride[inner] * extent)
            return false;
    }
    return true;
}

void broadcast_plan(struct broadcast *p, const pkb_tensor *dst, int n, const pkb_tensor *const *operands)
{
    *p = (struct broadcast){.n_operands = n, .shape = {1}};
    for (int k = 0; k < n; k++)
        open_operand(&p->operands[k], operands[k], dst->ndim);
    int last = -1;
    for (int i = 0; i < dst->ndim; i++) {
        if (dst->shape[i] == 1)
            continue;
        bool merge = last >= 0 && continues(p, last, i, dst->shape[i]);
        last += merge ? 0 : 1;
        p->shape[last] = merge ? p->shape[last] * dst->shape[i] : dst->shape[i];
        for (int k = 0; k < n; k++)
            p->operands[k].stride[last] = p->operands[k].stride[i];
    }
    p->ndim = last < 0 ? 1 : last + 1; /* one element: a run of 1, whose strides are 0 */
    p->run = (size_t)p->shape[p->ndim - 1];
    for (int k = 0; k < n; k++)
        p->operands[k].still = last < 0 || p->operands[k].stride[last] == 0;
}

static void move(struct broadcast *p, int dim, int64_t steps)
{
    for (int k = 0; k < p->n_operands; k++)
        p->operands[k].at += p->operands[k].stride[dim] * (int64_t)p->operands[k].size * steps;
}

void broadcast_advance(struct broadcast *p)
{
    for (int i = p->ndim - 2; i >= 0; i--) {
        move(p, i, 1);
        if (++p->index[i] < p->shape[i])
            return;
        move(p, i, -p->shape[i]);
        p->index[i] = 0;
    }
}
