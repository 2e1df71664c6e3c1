/* SPDX-License-Identifier: Apache-2.0 */
/* What wrong candidates would return, and whether the checks of a problem notice. */
#ifndef PKB_TESTS_SUPPORT_MUTANTS_H
#define PKB_TESTS_SUPPORT_MUTANTS_H

#include "tests/support/evaluate.h"

/* As many as there are patterns of inputs in any problem. */
#define TRIALS 5

#define SUBJECT_MAX_WORLD 32

/* The evaluations of one problem. */
struct subject {
    const struct problem *problem;
    struct evaluation *expected[TRIALS];
    struct evaluation *again[TRIALS];                     /* the same once more */
    struct evaluation *wide[TRIALS];                      /* the same inputs in f64; NULL where the problem refuses it */
    struct evaluation *own[TRIALS][SUBJECT_MAX_WORLD];    /* [r]: all ranks have rank r's inputs, as if r took its own for its
                                                             peers'; NULL where there are no variants */
    struct evaluation *silent[TRIALS][SUBJECT_MAX_WORLD]; /* [r]: all inputs but rank r's are zero; likewise */
    struct evaluation *published[2];                      /* pkb profiles, twice; NULL where they refuse T */
};

/* All outputs of a rank, in the forms of the expected ones, zero at first. Ends the test when memory runs out. */
struct answer {
    int n;
    pkb_tensor out[PROBLEM_MAX_TENSORS];
};
void answer_init(struct answer *a, const struct evaluation_rank *expected);
void answer_free(struct answer *a);

/* Prints the wrong results that pass, and returns how many. They must be noticed by some rank in every trial, all outputs being
 * wrong but the numbers of rows; and what spoils one output alone in some trial. */
int mutants_pass(const struct subject *s);

#endif
