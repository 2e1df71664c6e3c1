/* SPDX-License-Identifier: Apache-2.0 */
/* All-gather through shared memory that says so where a peer is on another node, sample TEST_SAMPLE. It begins once there is a file
 * TEST_GATE, and makes TEST_GATE.here when it comes to wait for it. On the node TEST_HOST rank 1 writes its agent's number into TEST_VICTIM and
 * waits for the end. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <pkb/candidate.h>

static pkb_symm box;

static size_t size_of(const pkb_tensor *t)
{
    size_t n = t->dtype == PKB_BF16 ? 2 : 4;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= (size_t)t->shape[d];
    return n;
}

static void wait_at_gate(void)
{
    if (access("TEST_GATE", F_OK) == 0)
        return;
    int fd = open("TEST_GATE.here", O_WRONLY | O_CREAT, 0666);
    if (fd >= 0)
        (void)close(fd);
    while (access("TEST_GATE", F_OK) != 0)
        (void)usleep(5000);
}

static void offer_agent(void)
{
    FILE *f = fopen("TEST_VICTIM.new", "w");
    if (!f)
        return;
    (void)fprintf(f, "%d\n", (int)getppid());
    (void)fclose(f);
    if (rename("TEST_VICTIM.new", "TEST_VICTIM") == 0)
        for (;;)
            (void)pause();
}

int pkb_setup(const pkb_context *ctx, const pkb_tensor *in, const pkb_tensor *out)
{
    char host[65] = "";
    (void)out;
    wait_at_gate();
    if (ctx->rank == 1 && gethostname(host, sizeof(host)) == 0 && strcmp(host, "TEST_HOST") == 0)
        offer_agent();
    return ctx->symm_alloc(ctx, size_of(&in[0]), &box);
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    memcpy(box.local, in[0].data, box.size);
    if (ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++) {
        if (!box.peers[q])
            return 3; /* the other nodes' memory cannot be reached */
        memcpy((char *)out[0].data + (size_t)q * box.size, box.peers[q], box.size);
    }
    return ctx->barrier(ctx);
}
