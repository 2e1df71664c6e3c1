/* SPDX-License-Identifier: Apache-2.0 */
/* Short measurements of one core of this machine. Each takes the best of several tries, so that what else runs here does not make the
 * machine look slower than it is; altogether about a second. */
#ifndef PKB_TOPOLOGY_MEASURE_H
#define PKB_TOPOLOGY_MEASURE_H

#include <stdint.h>

#include "util/error.h"

/* Bytes read plus bytes written per second by a copy that does not fit the cache (as far as memory allows: at most 256 MiB
 * are used), in 10^9. */
int measure_memory(int64_t cache_bytes, double *gb_s, struct pkb_error *err);

/* Operations per second in 10^12: the better of OpenBLAS's products on one thread and of multiply-adds in registers. */
int measure_flops(double *f32, double *f64, struct pkb_error *err);

/* One core copies what another has just written to shared memory: bytes per second, in 10^9, and half a round trip of one cache
 * line, in microseconds. */
int measure_link(double *gb_s, double *latency_us, struct pkb_error *err);

#endif
