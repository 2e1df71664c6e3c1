/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a golden case: the arrays have shapes, a problem has parameters. */
#include <string.h>

#include "tests/golden/case.h"

/* Sweeps over all parameters; each settles at least one size. */
#define SWEEPS 4

/* A wrong number of dimensions counts like that many wrong sizes. */
#define WRONG_RANK 16

/* Larger arrays do not occur in golden data, and every value up to the largest is tried. */
#define LARGEST_SIZE 1000000

const json_t *golden_find_array(const json_t *list, const char *name)
{
    size_t i;
    const json_t *entry;
    json_array_foreach(list, i, entry)
    {
        const char *other = json_string_value(json_object_get(entry, "name"));
        if (other && strcmp(other, name) == 0)
            return entry;
    }
    return NULL;
}

int golden_shape(const json_t *entry, int rank, int64_t shape[PKB_MAX_DIMS], struct pkb_error *err)
{
    const json_t *list = json_array_get(json_object_get(entry, "shape"), (size_t)rank);
    if (!json_is_array(list) || json_array_size(list) > PKB_MAX_DIMS)
        return pkb_error_set(err, "no shape for rank %d", rank);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *size = json_array_get(list, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > LARGEST_SIZE)
            return pkb_error_set(err, "the shape for rank %d has an entry that is no size", rank);
        shape[i] = json_integer_value(size);
    }
    return (int)json_array_size(list);
}

/* How far the setting's shapes are from the case's, on all ranks; -1 with the error set when an input is missing. */
static int mismatch(const struct problem_setting *s, const json_t *inputs, struct pkb_error *err)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    struct problem_setting on = *s;
    int wrong = 0;
    for (on.rank = 0; on.rank < s->world; on.rank++) {
        int n = s->problem->inputs(&on, t);
        for (int i = 0; i < n; i++) {
            int64_t shape[PKB_MAX_DIMS];
            const json_t *entry = golden_find_array(inputs, t[i].name);
            if (!entry)
                return pkb_error_set(err, "there is no input %s", t[i].name);
            int ndim = golden_shape(entry, on.rank, shape, err);
            if (ndim < 0)
                return pkb_error_prefix(err, "input %s", t[i].name);
            wrong += ndim == t[i].form.ndim ? 0 : WRONG_RANK;
            for (int d = 0; d < ndim && d < t[i].form.ndim; d++)
                wrong += t[i].form.shape[d] != shape[d];
        }
    }
    return wrong;
}

/* The largest size that a parameter may have: a shape's entry may be a rank's share of it. */
static int64_t largest_candidate(const struct problem_setting *s, const json_t *inputs)
{
    int64_t largest = 1, shape[PKB_MAX_DIMS];
    size_t i;
    const json_t *entry;
    json_array_foreach(inputs, i, entry)
    {
        for (int q = 0; q < s->world; q++) {
            int ndim = golden_shape(entry, q, shape, NULL);
            for (int d = 0; d < ndim; d++)
                largest = shape[d] > largest ? shape[d] : largest;
        }
    }
    return largest * s->world;
}

/* Gives one parameter its best value; the present one stays unless another is better. */
static int improve(struct problem_setting *s, const json_t *inputs, int param, int best)
{
    struct problem_setting trial = *s;
    int64_t largest = largest_candidate(s, inputs);
    for (int64_t value = 1; value <= largest && best > 0; value++) {
        trial.params[param] = (double)value;
        int wrong = mismatch(&trial, inputs, NULL);
        if (wrong < best) {
            best = wrong;
            s->params[param] = (double)value;
        }
    }
    return best;
}

int golden_infer_sizes(struct problem_setting *s, const json_t *inputs, const bool fixed[PROBLEM_MAX_PARAMS],
                       struct pkb_error *err)
{
    const struct problem *p = s->problem;
    int wrong = mismatch(s, inputs, err);
    for (int sweep = 0; sweep < SWEEPS && wrong > 0; sweep++) {
        for (int i = 0; i < p->n_params && wrong > 0; i++) {
            if (p->params[i].integer && !fixed[i])
                wrong = improve(s, inputs, i, wrong);
        }
    }
    if (wrong > 0)
        return pkb_error_set(err, "no values of the problem's parameters give the shapes of the case's inputs");
    return wrong;
}
