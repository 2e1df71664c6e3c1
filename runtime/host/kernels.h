/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over elements in one of the three arithmetic types. */
#ifndef PKB_RUNTIME_HOST_KERNELS_H
#define PKB_RUNTIME_HOST_KERNELS_H

#include "runtime/backend.h"

#define KERNEL_CHUNK 1024 /* elements that one call of a kernel handles at most */

/* What an operation computes in: f64 when one of its tensors is f64, else f32 when one of them is a floating type, else i64. */
enum arithmetic { ARITHMETIC_F32, ARITHMETIC_F64, ARITHMETIC_I64 };

enum arithmetic arithmetic_of(int dst_dtype, int a_dtype, int b_dtype);

/* A piece of a tensor in an arithmetic type. */
union kernel_buffer {
    float f32[KERNEL_CHUNK];
    double f64[KERNEL_CHUNK];
    int64_t i64[KERNEL_CHUNK];
};

/* n (<= KERNEL_CHUNK) elements in the arithmetic type: `src` itself when it has that type, else converted into buf. */
const void *kernel_load(enum arithmetic type, union kernel_buffer *buf, int dtype, const void *src, size_t n);

/* Where a kernel writes n elements that go to `dst`: dst itself when it has the arithmetic type, else buf. */
void *kernel_target(enum arithmetic type, union kernel_buffer *buf, int dtype, void *dst);

/* Rounds what a kernel wrote into buf to dst; nothing is left to do when the target was dst. */
void kernel_store(enum arithmetic type, const union kernel_buffer *buf, int dtype, void *dst, size_t n);

/* n copies of a scalar. */
void kernel_spread(enum arithmetic type, union kernel_buffer *buf, double value, size_t n);
/* n copies of the first element. */
void kernel_repeat(enum arithmetic type, union kernel_buffer *buf, size_t n);

/* d[i] = first + step * (start + i), in f64 or i64. */
void kernel_iota(enum arithmetic type, void *d, double first, double step, size_t start, size_t n);

/* d[i] = op(a[i]), d[i] = a[i] op b[i]; d may be an operand. -1 with the error set for a division of integers by zero. */
void kernel_unary(enum arithmetic type, enum rt_unary op, void *d, const void *a, size_t n);
int kernel_binary(enum arithmetic type, enum rt_binary op, void *d, const void *a, const void *b, size_t n,
                  struct pkb_error *err);

/* d[i] = d[i] op a[i] for f64 and i64 accumulators, and f32 for sums over ranks. */
void kernel_accumulate(enum arithmetic type, enum rt_reduction op, void *d, const void *a, size_t n);

/* The same over one run, into one accumulator. */
void kernel_fold(enum arithmetic type, enum rt_reduction op, void *accumulator, const void *a, size_t n);

/* d[i] = *accumulator + a[0] + ... + a[i], in f64 or i64; the accumulator becomes the last one. d may be a. */
void kernel_scan(enum arithmetic type, void *accumulator, void *d, const void *a, size_t n);

/* Sets n accumulators to the neutral element. */
void kernel_neutral(enum arithmetic type, enum rt_reduction op, void *d, size_t n);

#endif
