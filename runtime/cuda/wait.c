/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for the stream. */
#include <inttypes.h>
#include <sched.h>
#include <time.h>

#include "runtime/cuda/comm.h"
#include "util/clock.h"

#define SPINS 200
#define YIELDS 200
#define PAUSE_NS 50000

/* One step of waiting for the stream; `steps` counts them. */
static void pause_a_moment(unsigned steps)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    if (steps < SPINS)
        return;
    if (steps < SPINS + YIELDS)
        (void)sched_yield();
    else
        (void)nanosleep(&pause, NULL);
}

/* What waits for peers may wait for ever, so it is watched. */
static int watch_stream(struct rt_device *dev, struct pkb_error *err)
{
    int64_t deadline = pkb_now_ns() + dev->settings.timeout_ns;
    for (unsigned steps = 0;; steps++) {
        cudaError_t status = cudaStreamQuery(dev->stream);
        if (status != cudaErrorNotReady)
            return cuda_check(dev, status, "cudaStreamQuery", err);
        if (dev->comm_ops->watch(dev, err))
            return -1;
        if (pkb_now_ns() > deadline) {
            dev->comm_ops->abort(dev);
            return cuda_error(dev, err, "nothing has come from the peers for %" PRId64 " s; one of them may be gone",
                              dev->settings.timeout_ns / 1000000000);
        }
        pause_a_moment(steps);
    }
}

int cuda_wait(struct rt_device *dev, struct pkb_error *err)
{
    if (!dev->comm_ops)
        return CUDA_FAILS(dev, cudaStreamSynchronize(dev->stream), err) ? -1 : 0;
    return watch_stream(dev, err);
}
