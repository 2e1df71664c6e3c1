/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/gpu/cases.h"

#include <stdio.h>
#include <stdlib.h>

static int64_t numel(const pkb_tensor *t)
{
    int64_t n = 0;
    (void)tensor_numel(t, &n, NULL);
    return n;
}

static int stride = 1;

void set_case_stride(int every)
{
    stride = every;
}

static int run_on(struct rt *rt, const struct op_case *c, void *const *inputs, void *output, struct pkb_error *err)
{
    pkb_tensor *in[OPERANDS], *dst = rt_new(rt, c->dst.dtype, c->dst.ndim, c->dst.shape);
    for (int i = 0; i < c->n_in; i++) {
        in[i] = rt_new(rt, c->in[i].dtype, c->in[i].ndim, c->in[i].shape);
        rt_upload(rt, in[i], inputs[i]);
    }
    rt_fill_bytes(rt, dst, 0xff);
    c->run(rt, c, dst, in);
    rt_download(rt, output, dst);
    int rc = rt_sync(rt, err);
    rt_release_all(rt);
    return rc;
}

static void describe(const struct op_case *c, char *text, size_t size)
{
    char form[160];
    size_t used = (size_t)snprintf(text, size, "%s %d:", c->name, c->op);
    for (int i = 0; i <= c->n_in && used < size; i++) {
        tensor_describe(i < c->n_in ? &c->in[i] : &c->dst, form, sizeof(form));
        used += (size_t)snprintf(text + used, size - used, "%s %s", i < c->n_in ? "" : " ->", form);
    }
}

void run_case(const struct gpu_pair *pair, const struct op_case *c)
{
    static int count;
    if (count++ % stride != 0)
        return;
    void *inputs[OPERANDS] = {NULL}, *a = malloc((size_t)numel(&c->dst) * 8 + 8), *b = malloc((size_t)numel(&c->dst) * 8 + 8);
    struct pkb_error err = {""};
    char text[512];
    describe(c, text, sizeof(text));
    for (int i = 0; i < c->n_in; i++) {
        inputs[i] = malloc((size_t)numel(&c->in[i]) * 8 + 8);
        if (inputs[i])
            gpu_values(inputs[i], c->in[i].dtype, numel(&c->in[i]), c->values, (uint32_t)i);
    }
    if (run_on(pair->host, c, inputs, b, &err) || run_on(pair->cuda, c, inputs, a, &err))
        gpu_check(false, "%s: %s", text, err.text);
    else
        gpu_compare(text, c->dst.dtype, numel(&c->dst), a, b, c->tolerance);
    for (int i = 0; i < c->n_in; i++)
        free(inputs[i]);
    free(a);
    free(b);
}

/* ---- tolerances ---------------------------------------------------------------------------------------------------- */

struct gpu_tolerance tolerance_of(int dst, bool exact)
{
    double u = dtype_roundoff(dst), least = dst == PKB_F64 ? 1e-14 : 1e-6;
    return exact ? (struct gpu_tolerance){0, 0} : (struct gpu_tolerance){2 * u + least, dst == PKB_F64 ? 1e-15 : 1e-6};
}

struct gpu_tolerance tolerance_of_sum(int dst, int64_t length)
{
    double unit = dst == PKB_F64 ? 0x1p-51 : 0x1p-22;
    return (struct gpu_tolerance){2 * dtype_roundoff(dst), unit * (double)(length + 1)};
}
