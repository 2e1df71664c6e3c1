/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of problems are built from: descriptions of tensors, fillers of inputs, steps of references, checks,
 * sizes. Only files under problems/ include it.
 */
#ifndef PKB_PROBLEMS_KIT_H
#define PKB_PROBLEMS_KIT_H

#include "problems/problem.h"

/* Number of entries of a table. */
#define KIT_COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* ---- descriptions -------------------------------------------------------------------------------------------------- */

/* Describes one tensor: kit_tensor(&t[0], "x", s->dtype, RT_SHAPE(m, n)). */
void kit_tensor(struct problem_tensor *t, const char *name, int dtype, int ndim, const int64_t *shape);

/* The marks of a described tensor (problem.h says what they mean). */
void kit_host(struct problem_tensor *input);
void kit_in_place(struct problem_tensor *output, int input);
void kit_counted_rows(struct problem_tensor *t, int count);
void kit_partial_rows(struct problem_tensor *input);

/* s->rank counted on from, around the ring: kit_peer(s->rank, -1, s->world) is the left neighbour. */
int kit_peer(int rank, int offset, int world);

/* Bytes of one element of T, as a number for cost models. */
double kit_element(const struct problem_setting *s);

/* a / b rounded up, of numbers that are not negative; n rounded up to a multiple. */
int64_t kit_divide_up(int64_t a, int64_t b);
int64_t kit_round_up(int64_t n, int64_t multiple);

/* A rank's share of a whole: floor(total / W), but not less than `least`. Both are names of parameters. */
int64_t kit_share(const struct problem_setting *s, const char *total, const char *least);

/* ---- constraints: 0, or -1 with the reason ------------------------------------------------------------------------- */

/* The parameter is the number of a rank. */
int kit_require_rank(const struct problem_setting *s, const char *name, struct pkb_error *err);

/* The parameter divides evenly over the ranks. */
int kit_require_divisible(const struct problem_setting *s, const char *name, struct pkb_error *err);

/* The parameter is at least `least`. */
int kit_require_least(const struct problem_setting *s, const char *name, int64_t least, struct pkb_error *err);

/* There is one rank, or an even number: problems whose ranks form pairs. */
int kit_require_pairs(const struct problem_setting *s, struct pkb_error *err);

/* ---- inputs, on the host ------------------------------------------------------------------------------------------- */

/* Streams of random numbers that belong to no tensor (scalars, common directions) are numbered from here on. */
#define KIT_STREAM 1000u

/* A number rounded once to a dtype, for recipes that go on from stored values. */
double kit_rounded(int dtype, double x);

/* Elements of a described tensor. */
size_t kit_numel(const pkb_tensor *t);

/* Memory for n numbers, which the caller frees. A filler cannot fail: where there is none, the program ends. */
double *kit_scratch(size_t n);

/* Random elements from this rank's own stream for input `tensor`. Integers: low <= x <= high. */
void kit_fill_normal(const struct problem_setting *s, struct problem_inputs *set, int tensor);
void kit_fill_integers(const struct problem_setting *s, struct problem_inputs *set, int tensor, int64_t low, int64_t high);

/* The same: N(0, scale^2); uniform in [low, high). Both rounded once. */
void kit_fill_scaled_normal(const struct problem_setting *s, struct problem_inputs *set, int tensor, double scale);
void kit_fill_uniform(const struct problem_setting *s, struct problem_inputs *set, int tensor, double low, double high);

/* Element i becomes value(arg, i), rounded once to the tensor's dtype. */
typedef double kit_value_fn(const void *arg, size_t i);
void kit_fill_with(pkb_tensor *t, kit_value_fn *value, const void *arg);

/* All elements of `count` entries of the leading dimension from `first` on. */
void kit_fill_rows(pkb_tensor *t, int64_t first, int64_t count, double value);
void kit_fill_constant(pkb_tensor *t, double value);

/* A random step, from number `index` of the stream, with which a walk around n places comes to each of them once; less than n. */
int64_t kit_random_step(const struct rng *rng, uint64_t index, int64_t n);

/* The setting as another rank has it: a filler takes it to make what that rank has too, or to share data between ranks. */
struct problem_setting kit_as_rank(const struct problem_setting *s, int rank);

/* ---- steps of references ------------------------------------------------------------------------------------------- */

/* The group of ranks first, first + stride, first + 2 stride, ..., the own one among them. */
const struct rt_group *kit_stride_group(const struct problem_call *c, int first, int stride, int size);

/* One step around the ring of a group: t goes to the next member; what the previous one sent is returned, a temporary. */
pkb_tensor *kit_pass_right(struct rt *rt, const struct rt_group *g, const pkb_tensor *t);

/* |x| * factor in f32, a temporary. */
pkb_tensor *kit_magnitude(const struct problem_call *c, const pkb_tensor *x, double factor);

/* ---- checks -------------------------------------------------------------------------------------------------------- */

/* Every bit: for pure data movement. Serves as problem.check. */
void kit_check_exact(const struct problem_setting *s, int output, struct problem_check *check);

/* Within what bound() computes, and nothing else. Serves as problem.check. */
void kit_check_bound(const struct problem_setting *s, int output, struct problem_check *check);

/* The largest integer up to which T holds all integers: sums of integers within it are exact in any order. */
double kit_exact_limit(const struct problem_setting *s);

/* The type in which sums and single operations are evaluated before they are rounded to T (f64 for f64, f32 for all others), and its
 * roundoff. */
int kit_accumulate_dtype(const struct problem_setting *s);
double kit_accumulate_roundoff(const struct problem_setting *s);

/* The distance between the smallest numbers of T, where roundoff is no longer relative; matters for f16 alone. */
double kit_least_step(const struct problem_setting *s);

/* T is bf16 or f16: narrower than the accumulation. */
bool kit_is_narrow(const struct problem_setting *s);

#endif
