/* SPDX-License-Identifier: Apache-2.0 */
/* All-gather between nodes that share files but no memory: what the tests of several nodes need. TEST_FOLDER is put in by them. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <pkb/candidate.h>

static size_t size_of(const pkb_tensor *t)
{
    size_t n = t->dtype == PKB_BF16 ? 2 : 4;
    for (int32_t d = 0; d < t->ndim; d++)
        n *= (size_t)t->shape[d];
    return n;
}

static int transfer(const pkb_context *ctx, int32_t rank, void *data, size_t size, int writes)
{
    char path[256];
    (void)snprintf(path, sizeof(path), "TEST_FOLDER/%d-%d", ctx->world, rank);
    int fd = writes ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666) : open(path, O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t n = writes ? write(fd, data, size) : read(fd, data, size);
    return close(fd) == 0 && n == (ssize_t)size ? 0 : -1;
}

int pkb_solution(const pkb_context *ctx, const pkb_tensor *in, pkb_tensor *out)
{
    size_t size = size_of(&in[0]);
    if (transfer(ctx, ctx->rank, in[0].data, size, 1) != 0 || ctx->barrier(ctx) != 0)
        return -1;
    for (int32_t q = 0; q < ctx->world; q++)
        if (transfer(ctx, q, (char *)out[0].data + (size_t)q * size, size, 0) != 0)
            return -1;
    return ctx->barrier(ctx);
}
