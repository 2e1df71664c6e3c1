/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Adam (Kingma, Ba: "Adam: a method for stochastic optimization", ICLR 2015), and of AdamW, element by element, with
 * state in T and a rounding after every operation; there is no copy in a wider type. With rnd() the rounding to T, bc1 = 1 -
 * beta1^step, bc2 = 1 - beta2^step in f64, and everything within rnd() in f32 (f64 for T = f64), constants included (1 - beta is
 * a constant: taken in f64, as 1 - 0.999f is off by 5e-5):
 *     m' = rnd( rnd(beta1 * m) + (1 - beta1) * g )
 *     v' = rnd( rnd(beta2 * v) + (1 - beta2) * g * g )
 *     direction = rnd( rnd(m' / bc1) / rnd( rnd(sqrt(rnd(v' / bc2))) + eps ) )
 *     p' = rnd( p + rnd(-lr * direction) )                                      adam_update
 *     p' = rnd( rnd(p - lr * direction) - lr * weight_decay * p )               adam_update_decayed
 * A fused kernel in f32 with one rounding per result is correct too.
 *
 * Check. Where an element of g is uncertain by dg, as the roundings before it may fall otherwise, results may differ by
 *     dm = (1 - beta1) * dg + 3 * u * (beta1 * |m| + (1 - beta1) * |g|)
 *     dv = (1 - beta2) * (2 * |g| + dg) * dg + 3 * u * |v'|
 *     dp = lr * ( dm / bc1 / d + |direction| * (dv / (2 * v') + 8 * u) ) + 2 * u * |p'|
 *          and with weight decay u * |p'| + 3 * u * lr * weight_decay * |p| more
 * with d = sqrt(v' / bc2) + eps, u the unit roundoff of T: the first order of the formulas above, and u for every rounding that
 * one evaluation has and another may not have. f16 has the step of its smallest numbers in addition.
 *
 * Inputs. With moments of zero, the published recipe, a first step is +-lr whatever the gradient: m = 0.5 * N(0,1), v uniform
 * in [0.01, 0.05) make all outputs depend on all inputs. The published rates, lr = 0.001 and a weight decay of 0.01, are too
 * small to show in T as well: defaults are larger, and the pkb profile takes each as much smaller.
 */
#ifndef PKB_PROBLEMS_FSDP_ZERO_ADAM_H
#define PKB_PROBLEMS_FSDP_ZERO_ADAM_H

#include "problems/kit.h"

/* Parameters of the optimizer: five in a row, named as the problem names them. `first` below is the number of the first of
 * them. */
#define ADAM_PARAMS(lr, beta1, beta2)                                                                                            \
    {"lr", lr, lr, false, "learning rate; in the pkb profile smaller, by default 0.001"},                                        \
        {beta1, 0.9, 0.9, false, "decay of the first moment"}, {beta2, 0.999, 0.999, false, "decay of the second moment"},       \
        {"eps", 1e-8, 1e-8, false, "added to the root of the second moment"},                                                    \
    {                                                                                                                            \
        "step", 1, 1, true, "number of the step in the first trial; one more in each of the next six, and again"                 \
    }

struct adam {
    double lr, beta1, beta2, eps;
    double weight_decay; /* 0 unless the problem sets it */
    double bc1, bc2;     /* corrections of the moments' bias */
};

/* From the parameters of a call. */
struct adam adam_of(const struct problem_call *c, int first);

/* The parameters make sense, and T has room for second moments: f16 has none for those of the pkb profile. 0, or -1 with the
 * reason. */
int adam_supports(const struct problem_setting *s, int first, struct pkb_error *err);

/* Sets a trial's step and the profile's learning rate. */
void adam_init(const struct problem_setting *s, struct problem_inputs *set, int first);

/* A rate (learning rate, weight decay), the parameter number `param`, as the profile has it: in the pkb profile as much smaller
 * as the published one is than the parameter's default. */
double adam_rate(const struct problem_setting *s, int param, double published);

/* Fills the inputs m and v, different on every rank. */
void adam_init_moments(const struct problem_setting *s, struct problem_inputs *set, int m, int v);

/* Tensors of one shape, of T: state before the step and the gradient. */
struct adam_state {
    const pkb_tensor *p, *m, *v, *g;
};

/* m', v' into tensors that the caller has made; the direction as a temporary. */
void adam_moments(const struct problem_call *c, const struct adam *a, const struct adam_state *old, pkb_tensor *m, pkb_tensor *v);
pkb_tensor *adam_direction(const struct problem_call *c, const struct adam *a, const pkb_tensor *m, const pkb_tensor *v);

/* p' from the direction. */
void adam_update(const struct problem_call *c, const struct adam *a, const pkb_tensor *p, const pkb_tensor *direction,
                 pkb_tensor *updated);
void adam_update_decayed(const struct problem_call *c, const struct adam *a, const pkb_tensor *p, const pkb_tensor *direction,
                         pkb_tensor *updated);

/* Something for parameters, first and second moments. */
struct adam_tensors {
    pkb_tensor *p, *m, *v;
};

/* The bounds above; they and dg are f32 and of the same shape. */
struct adam_tensors adam_bound(const struct problem_call *c, const struct adam *a, const struct adam_state *old,
                               const pkb_tensor *dg);

#endif
