/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled without contraction of a * b + c: every operation below rounds once, on every machine. */
#include "runtime/random.h"

#include <math.h>
#include <string.h>

#include "runtime/dtype.h"

#define BLOCKS 64          /* Philox blocks that are made at once */
#define DRAWS (2 * BLOCKS) /* 64-bit draws in them */

/* ---- bits ---------------------------------------------------------------------------------------------------------- */

/* The finaliser of SplitMix64 (Steele, Lea, Flood): a bijection that spreads every bit. */
static uint64_t mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct rng rng_make(uint32_t problem, uint64_t seed, uint32_t trial, uint32_t rank, uint32_t tensor)
{
    uint64_t where = mix64(((uint64_t)problem << 32 | trial) + 0x9e3779b97f4a7c15u);
    uint64_t key = mix64(seed ^ where);
    return (struct rng){.key = {(uint32_t)key, (uint32_t)(key >> 32)}, .rank = rank, .tensor = tensor};
}

static inline void philox_round(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t k0, uint32_t k1)
{
    uint64_t p0 = (uint64_t)0xd2511f53u * *c0, p1 = (uint64_t)0xcd9e8d57u * *c2;
    *c0 = (uint32_t)(p1 >> 32) ^ *c1 ^ k0;
    *c2 = (uint32_t)(p0 >> 32) ^ *c3 ^ k1;
    *c1 = (uint32_t)p1;
    *c3 = (uint32_t)p0;
}

#define KEY_STEP0 0x9e3779b9u
#define KEY_STEP1 0xbb67ae85u

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c[4], k0 = key[0], k1 = key[1];
    memcpy(c, counter, sizeof(c));
    for (int round = 0; round < 10; round++, k0 += KEY_STEP0, k1 += KEY_STEP1)
        philox_round(&c[0], &c[1], &c[2], &c[3], k0, k1);
    memcpy(out, c, sizeof(c));
}

struct lanes {
    uint32_t w[4][BLOCKS];
};

/* All blocks side by side, so that the compiler can use vector instructions. */
static void philox_lanes(struct lanes *x, uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++, k0 += KEY_STEP0, k1 += KEY_STEP1) {
        for (int i = 0; i < BLOCKS; i++)
            philox_round(&x->w[0][i], &x->w[1][i], &x->w[2][i], &x->w[3][i], k0, k1);
    }
}

static uint64_t draw64(const struct rng *r, uint64_t index)
{
    uint64_t block = index / 2;
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), r->rank, r->tensor}, out[4];
    philox4x32_10(counter, r->key, out);
    size_t word = 2 * (index % 2);
    return (uint64_t)out[word + 1] << 32 | out[word];
}

/* Draws first .. first + DRAWS - 1; `first` is even. */
static void draw_many(const struct rng *r, uint64_t first, uint64_t out[DRAWS])
{
    struct lanes x;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint64_t block = first / 2 + i;
        x.w[0][i] = (uint32_t)block;
        x.w[1][i] = (uint32_t)(block >> 32);
        x.w[2][i] = r->rank;
        x.w[3][i] = r->tensor;
    }
    philox_lanes(&x, r->key[0], r->key[1]);
    for (size_t i = 0; i < BLOCKS; i++) {
        out[2 * i] = (uint64_t)x.w[1][i] << 32 | x.w[0][i];
        out[2 * i + 1] = (uint64_t)x.w[3][i] << 32 | x.w[2][i];
    }
}

/* ---- distributions ------------------------------------------------------------------------------------------------- */

static double uniform_of(uint64_t bits)
{
    return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

/* c[0] + c[1] x + ... + c[7] x^7, from the highest term on. */
static inline double poly7(const double c[8], double x)
{
    double y = c[7];
    for (int i = 6; i >= 0; i--)
        y = y * x + c[i];
    return y;
}

/* Natural logarithm of a positive normal number without libm: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
 * log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172, by the series of atanh up to s^23. */
static double fixed_log(double x)
{
    uint64_t u;
    double m, s, z, sum = 2.0 / 23;
    memcpy(&u, &x, sizeof(u));
    int64_t e = (int64_t)(u >> 52) - 1023;
    u = (u & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    memcpy(&m, &u, sizeof(m));
    if (m >= 0x1.6a09e667f3bcdp0) {
        m *= 0.5;
        e += 1;
    }
    s = (m - 1) / (m + 1);
    z = s * s;
    for (int k = 21; k >= 1; k -= 2)
        sum = sum * z + 2.0 / k;
    return (double)e * 0x1.62e42fefa39efp-1 + s * sum;
}

/* Inverse of the normal distribution function, from p - 1/2 = q and min(p, 1 - p) = tail: algorithm AS 241, PPND16 (M. J. Wichura,
 * "The percentage points of the normal distribution", Applied Statistics 37, 1988), relative accuracy about 1e-16. */
static inline double central(double q)
{
    static const double a[8] = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    double r = 0.180625 - q * q;
    return q * poly7(a, r) / poly7(b, r);
}

static double outer(double tail)
{
    static const double c[8] = {1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                2.27238449892691845833e-2, 7.74545014278341407640e-4};
    static const double d[8] = {1.0,
                                2.05319162663775882187e0,
                                1.67638483018380384940e0,
                                6.89767334985100004550e-1,
                                1.48103976427480074590e-1,
                                1.51986665636164571966e-2,
                                5.47593808499534494600e-4,
                                1.05075007164441684324e-9};
    static const double e[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                2.71155556874348757815e-5, 2.01033439929228813265e-7};
    static const double f[8] = {1.0,
                                5.99832206555887937690e-1,
                                1.36929880922735805310e-1,
                                1.48753612908506148525e-2,
                                7.86869131145613259100e-4,
                                1.84631831751005468180e-5,
                                1.42151175831644588870e-7,
                                2.04426310338993978564e-15};
    double r = sqrt(-fixed_log(tail));
    if (r <= 5)
        return poly7(c, r - 1.6) / poly7(d, r - 1.6);
    return poly7(e, r - 5) / poly7(f, r - 5);
}

/* p = (k + 1/2) 2^-52 for the upper 52 bits k: symmetric about 1/2, never 0 or 1, and p - 1/2 is exact. */
static inline double probability_of(uint64_t bits)
{
    return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52;
}

static inline bool is_central(double p)
{
    return fabs(p - 0.5) <= 0.425;
}

static double outer_normal(double p)
{
    return p < 0.5 ? -outer(p) : outer(1 - p);
}

static double normal_of(uint64_t bits)
{
    double p = probability_of(bits);
    return is_central(p) ? central(p - 0.5) : outer_normal(p);
}

/* The same for many: the central formula for all of them in a loop that vectorises, then 15 of 100 anew. */
static void normal_many(const uint64_t *bits, double *x, size_t n)
{
    double p[DRAWS];
    for (size_t i = 0; i < n; i++) {
        p[i] = probability_of(bits[i]);
        x[i] = central(p[i] - 0.5);
    }
    for (size_t i = 0; i < n; i++) {
        if (!is_central(p[i]))
            x[i] = outer_normal(p[i]);
    }
}

/* The upper half of the 128-bit product is one of 0 .. range-1. */
static int64_t integer_of(uint64_t bits, int64_t low, int64_t high)
{
    uint64_t range = (uint64_t)high - (uint64_t)low;
    uint64_t offset = (uint64_t)(((unsigned __int128)bits * range) >> 64);
    return (int64_t)((uint64_t)low + offset);
}

double rng_uniform(const struct rng *r, uint64_t index)
{
    return uniform_of(draw64(r, index));
}

double rng_normal(const struct rng *r, uint64_t index)
{
    return normal_of(draw64(r, index));
}

int64_t rng_integer(const struct rng *r, uint64_t index, int64_t low, int64_t high)
{
    return integer_of(draw64(r, index), low, high);
}

void rng_fill_uniform(const struct rng *r, int dtype, void *dst, size_t n, double low, double high)
{
    uint64_t bits[DRAWS];
    double x[DRAWS], width = high - low;
    for (size_t first = 0; first < n; first += DRAWS) {
        size_t count = n - first < DRAWS ? n - first : DRAWS;
        draw_many(r, first, bits);
        for (size_t i = 0; i < count; i++)
            x[i] = low + width * uniform_of(bits[i]);
        dtype_from_f64(dtype, (char *)dst + first * dtype_size(dtype), x, count);
    }
}

void rng_fill_normal(const struct rng *r, int dtype, void *dst, size_t n)
{
    uint64_t bits[DRAWS];
    double x[DRAWS];
    for (size_t first = 0; first < n; first += DRAWS) {
        size_t count = n - first < DRAWS ? n - first : DRAWS;
        draw_many(r, first, bits);
        normal_many(bits, x, count);
        dtype_from_f64(dtype, (char *)dst + first * dtype_size(dtype), x, count);
    }
}

void rng_fill_integers(const struct rng *r, int dtype, void *dst, size_t n, int64_t low, int64_t high)
{
    uint64_t bits[DRAWS];
    int64_t x[DRAWS];
    for (size_t first = 0; first < n; first += DRAWS) {
        size_t count = n - first < DRAWS ? n - first : DRAWS;
        draw_many(r, first, bits);
        for (size_t i = 0; i < count; i++)
            x[i] = integer_of(bits[i], low, high);
        dtype_from_i64(dtype, (char *)dst + first * dtype_size(dtype), x, count);
    }
}

void rng_permutation(const struct rng *r, int64_t *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (int64_t)i;
    for (size_t i = n; i-- > 1;) {
        size_t j = (size_t)rng_integer(r, i, 0, (int64_t)i + 1);
        int64_t kept = dst[i];
        dst[i] = dst[j];
        dst[j] = kept;
    }
}
