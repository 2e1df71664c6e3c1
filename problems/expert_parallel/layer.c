/* SPDX-License-Identifier: Apache-2.0 */
#include "problems/expert_parallel/layer.h"

#include "problems/expert_parallel/dispatch.h"
#include "problems/expert_parallel/expert.h"
#include "problems/expert_parallel/routing.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct moe_sizes moe_layer_sizes(const struct problem_setting *s)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    int n = s->problem->inputs(s, t);
    int64_t experts = t[MOE_ROUTER].form.shape[0];
    return (struct moe_sizes){
        .tokens = (int64_t)s->params[MOE_TOKENS],
        .width = (int64_t)s->params[MOE_WIDTH],
        .inner = (int64_t)s->params[MOE_INNER],
        .experts = experts,
        .top_k = smaller((int64_t)s->params[MOE_TOP_K], experts),
        .adapter = n > MOE_GATE_ADAPTER ? t[MOE_GATE_ADAPTER].form.shape[0] : 0,
        .group = (int)smaller(experts, s->world),
    };
}

/* A pair of tensors: (rows, columns) and what belongs to it. */
static void describe_linear(const struct problem_setting *s, struct problem_tensor *t, const char *const names[2], int64_t rows,
                            int64_t columns)
{
    kit_tensor(&t[0], names[0], s->dtype, RT_SHAPE(rows, columns));
    kit_tensor(&t[1], names[1], s->dtype, RT_SHAPE(rows));
}

static void describe_adapter(const struct problem_setting *s, struct problem_tensor *t, const char *const names[2], int64_t rank,
                             const struct problem_tensor *weight)
{
    kit_tensor(&t[0], names[0], s->dtype, RT_SHAPE(rank, weight->form.shape[1]));
    kit_tensor(&t[1], names[1], s->dtype, RT_SHAPE(weight->form.shape[0], rank));
}

int moe_layer_inputs(const struct problem_setting *s, struct problem_tensor *t, const char *x_name, int64_t experts,
                     int64_t adapter)
{
    int64_t width = (int64_t)s->params[MOE_WIDTH], inner = (int64_t)s->params[MOE_INNER];
    kit_tensor(&t[MOE_X], x_name, s->dtype, RT_SHAPE((int64_t)s->params[MOE_TOKENS], width));
    describe_linear(s, &t[MOE_ROUTER], (const char *const[]){"Wr", "br"}, experts, width);
    describe_linear(s, &t[MOE_GATE], (const char *const[]){"Wg", "bg"}, inner, width);
    describe_linear(s, &t[MOE_UP], (const char *const[]){"Wu", "bu"}, inner, width);
    describe_linear(s, &t[MOE_DOWN], (const char *const[]){"Wd", "bd"}, width, inner);
    if (adapter == 0)
        return MOE_GATE_ADAPTER;
    describe_adapter(s, &t[MOE_GATE_ADAPTER], (const char *const[]){"Ag", "Bg"}, adapter, &t[MOE_GATE]);
    describe_adapter(s, &t[MOE_UP_ADAPTER], (const char *const[]){"Au", "Bu"}, adapter, &t[MOE_UP]);
    describe_adapter(s, &t[MOE_DOWN_ADAPTER], (const char *const[]){"Ad", "Bd"}, adapter, &t[MOE_DOWN]);
    return MOE_DOWN_ADAPTER + 2;
}

int moe_layer_outputs(const struct problem_setting *s, struct problem_tensor *t)
{
    kit_tensor(&t[0], "out", s->dtype, RT_SHAPE((int64_t)s->params[MOE_TOKENS], (int64_t)s->params[MOE_WIDTH]));
    return 1;
}

/* ---- reference ----------------------------------------------------------------------------------------------------- */

static struct moe_linear linear_at(const struct problem_call *c, int weight, int adapter)
{
    return (struct moe_linear){
        .weight = &c->in[weight],
        .bias = &c->in[weight + 1],
        .a = adapter ? &c->in[adapter] : NULL,
        .b = adapter ? &c->in[adapter + 1] : NULL,
    };
}

/* Steps 1 to 4: which tokens go to which expert. */
static void route(const struct problem_call *c, const struct moe_sizes *z, struct moe_entries *entries)
{
    struct moe_linear router = linear_at(c, MOE_ROUTER, 0);
    pkb_tensor *p = moe_linear(c, &router, &c->in[MOE_X], z->tokens);
    pkb_tensor *weights = rt_new(c->rt, c->setting->dtype, RT_SHAPE(z->tokens, z->top_k));
    rt_softmax(c->rt, p, p);
    pkb_tensor *sel = moe_top_k(c, p, z->tokens, z->experts, z->top_k);
    rt_take_along(c->rt, weights, p, sel);
    moe_make_entries(c, sel, weights, z->tokens, z->experts, z->top_k, entries);
}

/* Step 6, for all rows that this rank has received. */
static pkb_tensor *apply_experts(const struct problem_call *c, const struct moe_sizes *z, const pkb_tensor *x, int64_t rows)
{
    struct moe_expert e = {
        .gate = linear_at(c, MOE_GATE, z->adapter > 0 ? MOE_GATE_ADAPTER : 0),
        .up = linear_at(c, MOE_UP, z->adapter > 0 ? MOE_UP_ADAPTER : 0),
        .down = linear_at(c, MOE_DOWN, z->adapter > 0 ? MOE_DOWN_ADAPTER : 0),
    };
    return moe_expert(c, &e, x, rows);
}

void moe_layer_reference(const struct problem_call *c)
{
    struct moe_sizes z = moe_layer_sizes(c->setting);
    struct moe_entries entries;
    struct moe_exchange x;
    route(c, &z, &entries);
    moe_exchange_counts(c, kit_stride_group(c, c->world->rank / z.group * z.group, 1, z.group), entries.counts, z.experts, &x);

    pkb_tensor *rows = rt_new(c->rt, c->setting->dtype, RT_SHAPE(x.sent, z.width));
    pkb_tensor *grouped = rt_new(c->rt, c->setting->dtype, RT_SHAPE(x.received, z.width));
    rt_take_rows(c->rt, rows, &c->in[MOE_X], entries.token);
    moe_group(c, &x, grouped, moe_dispatch(c, &x, rows, z.width));

    pkb_tensor *results = apply_experts(c, &z, grouped, x.received);
    moe_ungroup(c, &x, grouped, results);
    rows = moe_return(c, &x, grouped, z.width);
    rt_binary(c->rt, RT_MUL, rows, rows, entries.weight);
    moe_combine(c, &c->out[0], rows, entries.token, z.top_k);
}

/* ---- check and cost ------------------------------------------------------------------------------------------------ */

void moe_layer_check(const struct problem_setting *s, double largest, double rms, struct problem_check *check)
{
    *check = (struct problem_check){.kind = CHECK_ROWS, .row = (int64_t)s->params[MOE_WIDTH]};
    if (kit_is_narrow(s)) {
        check->row_max = s->dtype == PKB_F16 ? largest / 8 : largest;
        check->row_rms = s->dtype == PKB_F16 ? rms / 8 : rms;
    } else {
        check->row_max = check->row_rms = s->dtype == PKB_F64 ? 1e-9 : 1e-4;
    }
}

void moe_layer_cost(const struct problem_setting *s, struct problem_cost *cost)
{
    struct moe_sizes z = moe_layer_sizes(s);
    double tokens = (double)z.tokens, width = (double)z.width, inner = (double)z.inner, experts = (double)z.experts;
    double adapter = (double)z.adapter, rows = tokens * (double)z.top_k, others = z.group - 1.0, size = kit_element(s);
    double projections = 3 * width * inner + 3 * adapter * (width + inner);
    cost->flops = 2 * tokens * width * experts + 2 * rows * projections;
    cost->hbm_bytes = size * (2 * tokens * width + experts * width + projections + 4 * rows * width);
    cost->link_bytes = 2 * rows * width * size * others / z.group + 8 * experts * others;
}
