/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of experts under expert parallelism (31, 32, 49, 50, 51): every token goes to k of E experts and back.
 *
 * Members of a group of G ranks own E / G experts each. All experts of a rank share one set of weights, and every rank has a
 * router of its own. R is rounding to T, lin(x, A, b) = R(x A^T + b); what is inside R is f32 (f64 for T = f64).
 *   1. z = lin(h, Wr, br), (M, E);  P = R(softmax of z over the experts).
 *   2. Of every token t the k experts with the largest P[t, e], the smaller e first where they are equal; weights P[t, e] as they
 *      are, not normalised again.
 *   3. c[e] = tokens that selected e. The members gather all c; so they know how many rows go where.
 *   4. p = rows of h for e ascending, for t ascending, where t selected e. Rows for the experts of member q go to member q.
 *   5. What arrives is ordered by source, local expert, token; it is put into the order local expert, source, token: X.
 *   6. G = lin(X, Wg, bg), U = lin(X, Wu, bu), Y = R(R(silu(G)) * U), Z = lin(Y, Wd, bd), silu(x) = x / (1 + exp(-x)).
 *      With adapters each lin(x, W, b) becomes R(lin(x, W, b) + R(R(x A^T) B^T)).
 *   7. Back into the order of 5, back to the tokens' ranks: row i of u belongs to row i of p.
 *   8. v[i] = R(u[i] * P[t_i, e_i]);  out[t] = the sum of the k rows of t, e ascending, from 0, R after each addition.
 * In one line: out[t] = sum over the selected e of P[t, e] * MLP of e's owner(h[t]). A rank may receive no row at all.
 *
 * Parameters come in the order tokens, width, inner size, k; inputs are those of moe_layer_inputs, in this order.
 */
#ifndef PKB_PROBLEMS_EXPERT_PARALLEL_LAYER_H
#define PKB_PROBLEMS_EXPERT_PARALLEL_LAYER_H

#include "problems/kit.h"

/* Places of the parameters and of the inputs. A projection's weight is followed by its bias, an adapter's A by its B. */
enum { MOE_TOKENS, MOE_WIDTH, MOE_INNER, MOE_TOP_K };
enum {
    MOE_X,
    MOE_ROUTER,
    MOE_GATE = MOE_ROUTER + 2,
    MOE_UP = MOE_GATE + 2,
    MOE_DOWN = MOE_UP + 2,
    MOE_GATE_ADAPTER = MOE_DOWN + 2,
    MOE_UP_ADAPTER = MOE_GATE_ADAPTER + 2,
    MOE_DOWN_ADAPTER = MOE_UP_ADAPTER + 2,
};

/* What the functions below find out from the parameters and from problem->inputs. */
struct moe_sizes {
    int64_t tokens, width, inner;
    int64_t experts, top_k; /* k is at most E */
    int64_t adapter;        /* rank of the adapters, 0: none */
    int group;              /* ranks that exchange tokens: consecutive ones, as many as there are experts, at most all */
};
struct moe_sizes moe_layer_sizes(const struct problem_setting *s);

/* Describes x_name (M, N), Wr (E, N), br (E), Wg (F, N), bg (F), Wu, bu likewise, Wd (N, F), bd (N), all of T, and for an adapter
 * of rank > 0 Ag (rank, N), Bg (F, rank), Au, Bu likewise, Ad (rank, F), Bd (N, rank). */
int moe_layer_inputs(const struct problem_setting *s, struct problem_tensor *t, const char *x_name, int64_t experts,
                     int64_t adapter);

/* out (M, N) of T. */
int moe_layer_outputs(const struct problem_setting *s, struct problem_tensor *t);

/* Scales of what is not N(0,1). The router's weight is N(0, 1/N); what is not said here is uniform in +-1/sqrt(columns), weights
 * and biases alike, as published. */
struct moe_recipe {
    double router_bias; /* N(0, this^2) */
    double expert_bias; /* N(0, this^2), and the weights N(0, 1/columns); 0: uniform as published */
};

/* Fills all inputs. Tokens are N(0,1), drawn again until their choice of experts is clear (choice.h); in sets whose number is 2
 * mod 3 nobody selects the experts of one member (draw.h), as their routers' biases are -12. Adapters have A ~ N(0, 1/columns)
 * and B ~ N(0, 1/(4 rank)), so that they weigh as much as the rest. pkb profile: everything N(0,1) but the uniform experts,
 * nothing drawn again. */
void moe_layer_init(const struct problem_setting *s, struct problem_inputs *set, const struct moe_recipe *recipe);

/* Serves as problem.reference. */
void moe_layer_reference(const struct problem_call *c);

/* Differences relative to the rms of a row: at most `largest`, and `rms` in the root mean square, for bf16; an eighth of that for
 * f16; 1e-4 for f32 and 1e-9 for f64. The roundings above alone put a reference of paper size in bf16 off the exact result by up to
 * 0.05 and 0.011 (with adapters 0.06 and 0.013); a result that rounds elsewhere may be off as far in the other direction. */
void moe_layer_check(const struct problem_setting *s, double largest, double rms, struct problem_check *check);

/* Ideal cost, with k*M rows per rank, the expectation where experts are equally popular: router and experts, tokens, weights
 * and result once, rows written and read on the way there and back; what is sent. Serves as problem.cost. */
void moe_layer_cost(const struct problem_setting *s, struct problem_cost *cost);

#endif
