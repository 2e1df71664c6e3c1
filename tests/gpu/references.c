/* SPDX-License-Identifier: Apache-2.0 */
/* The references of all problems (or of those that PKB_TEST_PROBLEMS names), tiny, on both backends. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/gpu.h"
#include "tests/support/evaluate.h"
#include "tests/support/selected.h"

/* More than there are problems, times dtypes. */
#define MAX_EVALUATIONS 256

static const int dtypes[] = {PKB_F32, PKB_BF16};

/* Compares what the two evaluations have found, under the problem's own tolerance. */
static void compare(const struct evaluation *host, const struct evaluation *cuda, const char *comm)
{
    for (int r = 0; r < host->world; r++) {
        const struct evaluation_rank *rank = &host->ranks[r];
        for (int k = 0; k < rank->n_out; k++) {
            struct problem_difference d;
            char text[256];
            evaluation_compare(host, r, cuda->ranks[r].out, k, &d);
            problem_difference_describe(&d, rank->out[k].ndim, text, sizeof(text));
            gpu_check(d.ok, "%s %s, %s, rank %d of %d, output %s: %s", rank->setting.problem->name,
                      dtype_name(rank->setting.dtype), comm, r, host->world, rank->outputs[k].name, text);
        }
    }
}

struct list {
    struct evaluation *host[MAX_EVALUATIONS], *cuda[MAX_EVALUATIONS];
    int n;
};

/* The same evaluation for both backends, unless the problem does not run so. */
static void add(struct list *l, const struct problem *p, int dtype, int world)
{
    struct problem_setting s;
    struct pkb_error err = {""};
    problem_setting_init(&s, p, SHAPE_TINY, dtype, 0, world);
    if (problem_setting_check(&s, &err) < 0) {
        printf("%s\n", err.text);
        return;
    }
    struct evaluation *host = l->n < MAX_EVALUATIONS ? evaluation_create(&s, &err) : NULL;
    struct evaluation *cuda = host ? evaluation_create(&s, &err) : NULL;
    gpu_check(host && cuda, "%s: %s", p->name, err.text[0] ? err.text : "no room");
    if (!host || !cuda) {
        evaluation_destroy(host);
        return;
    }
    evaluation_init(host, 3);
    evaluation_init(cuda, 3);
    l->host[l->n] = host;
    l->cuda[l->n++] = cuda;
}

static void collect(struct list *l, int world)
{
    l->n = 0;
    for (const struct problem *const *p = selected_problems(); *p; p++) {
        for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
            add(l, *p, dtypes[i], world);
    }
}

static int run_with(const char *backend, struct evaluation *const *list, int n, struct pkb_error *err)
{
    if (setenv("PKB_TEST_BACKEND", backend, 1))
        return pkb_error_errno(err, "environment");
    int rc = evaluation_run(list, n, err);
    (void)unsetenv("PKB_TEST_BACKEND");
    return rc;
}

static void run_world(int world, const char *comm)
{
    static struct list l;
    struct pkb_error err = {""};
    collect(&l, world);
    (void)setenv("PKB_COMM", comm, 1);
    bool ran = run_with("host", l.host, l.n, &err) == 0 && run_with("cuda", l.cuda, l.n, &err) == 0;
    gpu_check(ran, "references on %d ranks, %s: %s", world, comm, err.text);
    for (int i = 0; i < l.n; i++) {
        if (ran)
            compare(l.host[i], l.cuda[i], comm);
        evaluation_destroy(l.host[i]);
        evaluation_destroy(l.cuda[i]);
    }
    printf("%d references, world %d, %s\n", l.n, world, comm);
}

void test_references(void)
{
    const char *text = getenv("PKB_TEST_GPUS");
    int gpus = text ? atoi(text) : 1;
    run_world(1, "nccl");
    run_world(2, "staged");
    run_world(4, "staged");
    run_world(8, "staged");
    if (gpus > 1)
        run_world(gpus, "nccl");
}
