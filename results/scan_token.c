/* SPDX-License-Identifier: Apache-2.0 */
#include "results/scan_token.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/scan.h"

int cursor_error(struct cursor *c, const char *what)
{
    return pkb_error_set(c->err, "column %zu: %s", (size_t)(c->p - c->start) + 1, what);
}

void cursor_space(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

int token_expect(struct cursor *c, char what)
{
    char text[] = "expected ' '";
    cursor_space(c);
    if (c->p < c->end && *c->p == what) {
        c->p++;
        return 0;
    }
    text[sizeof(text) - 3] = what;
    return cursor_error(c, text);
}

/* ---- strings -------------------------------------------------------------------------------------------------------- */

size_t scan_utf8(const char *text, size_t size)
{
    const unsigned char *s = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || size < n)
        return 0;
    /* The second byte's range excludes overlong forms, surrogates and what is above U+10FFFF. */
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    return n;
}

/* The four digits behind \u, or -1. */
static int hex4(const char *p, const char *end)
{
    int value = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Length of the escape at p[0] == '\\', or 0; *code gets the character. */
static size_t read_escape(const char *p, const char *end, int *code)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (end - p < 2)
        return 0;
    const char *at = p[1] ? strchr(from, p[1]) : NULL;
    if (at) {
        *code = to[at - from];
        return 2;
    }
    int high = p[1] == 'u' ? hex4(p + 2, end) : -1;
    *code = high;
    if (high <= 0 || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    if (high < 0xd800 || high > 0xdbff)
        return 6;
    int low = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? hex4(p + 8, end) : -1;
    *code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    return low >= 0xdc00 && low <= 0xdfff ? 12 : 0;
}

static size_t put_utf8(int code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(0xff << (8 - n) | code);
    return n;
}

int scan_unescape(const char *text, size_t length, char *out, size_t size)
{
    const char *end = text + length;
    size_t used = 0;
    while (text < end) {
        char bytes[4] = {*text};
        size_t n = 1, step = 1;
        if (*text == '\\') {
            int code = 0;
            step = read_escape(text, end, &code);
            n = put_utf8(code, bytes);
        }
        if (step == 0 || used + n >= size)
            return -1;
        memcpy(out + used, bytes, n);
        used += n;
        text += step;
    }
    out[used] = '\0';
    return 0;
}

int token_string(struct cursor *c, struct value *v)
{
    if (token_expect(c, '"') < 0)
        return -1;
    *v = (struct value){.kind = VALUE_STRING, .text = c->p};
    while (c->p < c->end) {
        unsigned char ch = (unsigned char)*c->p;
        size_t step = 1;
        int code;
        if (ch == '"') {
            v->size = (size_t)(c->p++ - v->text);
            return 0;
        }
        if (ch < 0x20)
            return cursor_error(c, "control character in a string");
        if (ch == '\\') {
            v->escaped = true;
            step = read_escape(c->p, c->end, &code);
        } else if (ch >= 0x80) {
            step = scan_utf8(c->p, (size_t)(c->end - c->p));
        }
        if (step == 0)
            return cursor_error(c, ch == '\\' ? "invalid escape" : "invalid UTF-8");
        c->p += step;
    }
    return cursor_error(c, "a string does not end");
}

/* ---- numbers -------------------------------------------------------------------------------------------------------- */

/* A number taken apart: digits * 10^exponent. */
struct decimal {
    uint64_t digits; /* valid while count <= 19 */
    int count;       /* of significant digits */
    int exponent;
    bool negative, real;
};

static bool is_digit(const struct cursor *c)
{
    return c->p < c->end && *c->p >= '0' && *c->p <= '9';
}

static int read_digits(struct cursor *c, struct decimal *d, int per_digit)
{
    const char *from = c->p, *p = from;
    uint64_t digits = d->digits;
    int count = d->count;
    for (; p < c->end && *p >= '0' && *p <= '9'; p++) {
        if (count < 19)
            digits = digits * 10 + (uint64_t)(*p - '0');
        count += count > 0 || *p != '0';
    }
    if (p == from)
        return cursor_error(c, "expected a digit");
    d->digits = digits;
    d->count = count;
    d->exponent += per_digit * (int)(p - from); /* a line is no longer than RECORD_MAX_LINE */
    c->p = p;
    return 0;
}

static int read_exponent(struct cursor *c, struct decimal *d)
{
    bool negative = false;
    int exponent = 0;
    c->p++;
    if (c->p < c->end && (*c->p == '+' || *c->p == '-'))
        negative = *c->p++ == '-';
    if (!is_digit(c))
        return cursor_error(c, "expected a digit");
    for (; is_digit(c); c->p++)
        if (exponent < 100000)
            exponent = exponent * 10 + (*c->p - '0');
    d->exponent += negative ? -exponent : exponent;
    return 0;
}

static int read_decimal(struct cursor *c, struct decimal *d)
{
    memset(d, 0, sizeof(*d));
    if (c->p < c->end && *c->p == '-') {
        d->negative = true;
        c->p++;
    }
    if (c->p < c->end && *c->p == '0')
        c->p++;
    else if (read_digits(c, d, 0) < 0)
        return -1;
    if (c->p < c->end && *c->p == '.') {
        d->real = true;
        c->p++;
        if (read_digits(c, d, -1) < 0)
            return -1;
    }
    if (c->p == c->end || (*c->p != 'e' && *c->p != 'E'))
        return 0;
    d->real = true;
    return read_exponent(c, d);
}

/* The general case, through the C library, whose decimal point is the locale's. */
static int convert_text(struct cursor *c, const char *from, double *out)
{
    char text[512];
    size_t size = (size_t)(c->p - from);
    if (size >= sizeof(text))
        return cursor_error(c, "a number is too long");
    memcpy(text, from, size);
    text[size] = '\0';
    char *point = strchr(text, '.');
    if (point)
        *point = *localeconv()->decimal_point;
    char *end;
    *out = strtod(text, &end);
    if (*end)
        return cursor_error(c, "a number cannot be converted");
    return isfinite(*out) ? 0 : cursor_error(c, "a number is too large");
}

/* Up to 15 digits and powers of ten up to 22 are exact doubles, so that one operation rounds correctly. */
static bool convert_exact(const struct decimal *d, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->count > 15 || d->exponent < -22 || d->exponent > 22)
        return false;
    double x = (double)d->digits;
    x = d->exponent < 0 ? x / powers[-d->exponent] : x * powers[d->exponent];
    *out = d->negative ? -x : x;
    return true;
}

static int convert_integer(struct cursor *c, const struct decimal *d, int64_t *out)
{
    uint64_t limit = (uint64_t)INT64_MAX + d->negative;
    if (d->count > 19 || d->digits > limit)
        return cursor_error(c, "an integer is too large");
    *out = (int64_t)(d->negative ? 0 - d->digits : d->digits);
    return 0;
}

static int token_number(struct cursor *c, struct value *v, bool convert)
{
    const char *from = c->p;
    struct decimal d;
    if (read_decimal(c, &d) < 0)
        return -1;
    v->kind = d.real ? VALUE_REAL : VALUE_INTEGER;
    if (!convert)
        return 0;
    if (!d.real)
        return convert_integer(c, &d, &v->integer);
    return convert_exact(&d, &v->real) ? 0 : convert_text(c, from, &v->real);
}

/* ---- any of them ---------------------------------------------------------------------------------------------------- */

static bool take_word(struct cursor *c, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(c->end - c->p) < size || memcmp(c->p, word, size) != 0)
        return false;
    c->p += size;
    return true;
}

int token_scalar(struct cursor *c, struct value *v, bool convert)
{
    *v = (struct value){.kind = VALUE_BOOL};
    if (c->p == c->end)
        return cursor_error(c, "the text ends where a value is expected");
    if (*c->p == '"')
        return token_string(c, v);
    if (*c->p == '-' || is_digit(c))
        return token_number(c, v, convert);
    if (take_word(c, "true") || take_word(c, "false"))
        return 0;
    if (!take_word(c, "null"))
        return cursor_error(c, "expected a value");
    v->kind = VALUE_NULL;
    return 0;
}
