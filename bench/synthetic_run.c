/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a run directory out of nothing, for looking at reports and for measuring them (tests/support/synthetic_run.h says what is in it):
 *
 *     synthetic_run DIR [MODELS [SAMPLES [PROBLEMS [SEED]]]]      6 models, 3 samples, all problems, seed 0; 1, 2, 4 and 8 ranks
 *     pkb report DIR
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/synthetic_run.h"
#include "util/file.h"

static long number(int argc, char **argv, int i, long otherwise)
{
    char *end;
    if (i >= argc)
        return otherwise;
    long n = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end || n < 0 || n > 100000) {
        (void)fprintf(stderr, "synthetic_run: '%s' is not a number from 0 to 100000\n", argv[i]);
        exit(2);
    }
    return n;
}

int main(int argc, char **argv)
{
    struct pkb_error err = {""};
    if (argc < 2 || argc > 6) {
        (void)fprintf(stderr, "usage: synthetic_run DIR [MODELS [SAMPLES [PROBLEMS [SEED]]]]\n");
        return 2;
    }
    struct synthetic_shape shape = {.models = (int)number(argc, argv, 2, 6),
                                    .samples = (int)number(argc, argv, 3, 3),
                                    .problems = (int)number(argc, argv, 4, 0),
                                    .seed = (uint64_t)number(argc, argv, 5, 0)};
    struct synthetic_run *r = pkb_mkdirs(argv[1], &err) == 0 ? synthetic_run_create(argv[1], &shape, &err) : NULL;
    int rc = r ? synthetic_run_write(r, 0, synthetic_run_plan(r)->n_cells, &err) : -1;
    if (rc < 0)
        (void)fprintf(stderr, "synthetic_run: %s\n", err.text);
    else
        printf("%s: %zu cells\n", argv[1], synthetic_run_plan(r)->n_cells);
    synthetic_run_destroy(r);
    return rc < 0 ? 1 : 0;
}
