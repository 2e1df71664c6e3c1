/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a floating type T; kernels.c includes this once per type, with NAME(f) for names and MATH(f) for libm. */

static void NAME(unary)(enum rt_unary op, T *d, const T *a, size_t n)
{
    switch (op) {
    case RT_NEG:
        MAP(-x);
    case RT_ABS:
        MAP(MATH(fabs)(x));
    case RT_EXP:
        MAP(MATH(exp)(x));
    case RT_LOG:
        MAP(MATH(log)(x));
    case RT_SQRT:
        MAP(MATH(sqrt)(x));
    case RT_RSQRT:
        MAP(1 / MATH(sqrt)(x));
    case RT_SQUARE:
        MAP(x * x);
    case RT_SIGMOID:
        MAP(1 / (1 + MATH(exp)(-x)));
    case RT_SOFTPLUS:
        MAP(GREATER(x, 0) + MATH(log1p)(MATH(exp)(-MATH(fabs)(x))));
    case RT_SILU:
        MAP(x / (1 + MATH(exp)(-x)));
    case RT_FLOOR:
        MAP(MATH(floor)(x));
    case RT_CEIL:
        MAP(MATH(ceil)(x));
    case RT_RINT:
        MAP(MATH(rint)(x));
    case RT_UNARY_COUNT:
        break;
    }
}

static void NAME(binary)(enum rt_binary op, T *d, const T *a, const T *b, size_t n)
{
    switch (op) {
    case RT_ADD:
        ZIP(x + y);
    case RT_SUB:
        ZIP(x - y);
    case RT_MUL:
        ZIP(x * y);
    case RT_DIV:
        ZIP(x / y);
    case RT_FLOORDIV:
        ZIP(MATH(floor)(x / y));
    case RT_MIN:
        ZIP(LESSER(x, y));
    case RT_MAX:
        ZIP(GREATER(x, y));
    case RT_MOD:
        ZIP(x - MATH(floor)(x / y) * y);
        COMPARISONS;
    case RT_BINARY_COUNT:
        break;
    }
}

/* Four partial results, so that one addition need not wait for the one before. */
#define FOLD(join)                                                                                                               \
    for (; i + 4 <= n; i += 4) {                                                                                                 \
        for (size_t j = 0; j < 4; j++)                                                                                           \
            y[j] = join(y[j], a[i + j]);                                                                                         \
    }                                                                                                                            \
    for (; i < n; i++)                                                                                                           \
        y[0] = join(y[0], a[i]);                                                                                                 \
    *accumulator = join(join(join(y[0], y[1]), y[2]), y[3]);                                                                     \
    break

#define PLUS(p, q) ((p) + (q))
#define TIMES(p, q) ((p) * (q))

static void NAME(fold)(enum rt_reduction op, T *accumulator, const T *a, size_t n)
{
    size_t i = 0;
    T start = op == RT_SUM ? 0 : op == RT_PROD ? 1 : *accumulator;
    T y[4] = {*accumulator, start, start, start};
    switch (op) {
    case RT_SUM:
        FOLD(PLUS);
    case RT_PROD:
        FOLD(TIMES);
    case RT_AMIN:
        FOLD(LESSER);
    case RT_AMAX:
        FOLD(GREATER);
    case RT_REDUCTION_COUNT:
        break;
    }
}

#undef FOLD
#undef PLUS
#undef TIMES
