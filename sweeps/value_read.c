/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeps/fields.h"
#include "util/suggest.h"

const char *sweep_describe(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "a table with names";
    case JSON_ARRAY:
        return json_array_size(value) > 0 ? "a list" : "an empty table";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    default:
        return "a function";
    }
}

int sweep_integer(const json_t *value, int64_t min, int64_t max, int64_t *out, struct pkb_error *err)
{
    if (!json_is_number(value))
        return pkb_error_set(err, "expected a whole number, found %s", sweep_describe(value));
    if (json_is_integer(value)) {
        *out = json_integer_value(value);
    } else {
        double d = json_real_value(value);
        if (d != floor(d))
            return pkb_error_set(err, "expected a whole number, found %g", d);
        if (fabs(d) > 9007199254740992.0)
            return pkb_error_set(err, "%g is outside %lld..%lld", d, (long long)min, (long long)max);
        *out = (int64_t)d;
    }
    if (*out < min || *out > max)
        return pkb_error_set(err, "%lld is outside %lld..%lld", (long long)*out, (long long)min, (long long)max);
    return 0;
}

int sweep_real(const json_t *value, double min, double max, double *out, struct pkb_error *err)
{
    if (!json_is_number(value))
        return pkb_error_set(err, "expected a number, found %s", sweep_describe(value));
    *out = json_number_value(value);
    if (!(*out >= min && *out <= max))
        return pkb_error_set(err, "%g is outside %g..%g", *out, min, max);
    return 0;
}

int sweep_text(const json_t *value, const char **out, struct pkb_error *err)
{
    if (!json_is_string(value))
        return pkb_error_set(err, "expected a text, found %s", sweep_describe(value));
    *out = json_string_value(value);
    return (*out)[0] ? 0 : pkb_error_set(err, "the text is empty");
}

int sweep_file_name(const char *text, size_t size, struct pkb_error *err)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (strlen(text) > size)
        return pkb_error_set(err, "\"%.40s...\" is longer than %zu bytes", text, size);
    if (text[0] == '.' || text[0] == '-' || text[strspn(text, allowed)])
        return pkb_error_set(err, "\"%s\" must consist of letters, digits, '.', '_' and '-', and not begin with '.' or '-'",
                             text);
    return 0;
}

int sweep_keep(char **out, const char *text, struct pkb_error *err)
{
    char *copy = strdup(text);
    if (!copy)
        return pkb_error_set(err, "out of memory");
    free(*out);
    *out = copy;
    return 0;
}

int sweep_unknown(const char *word, const char *const *words, size_t n, struct pkb_error *err, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    const char *near = pkb_suggest(word, words, n);
    if (near)
        return pkb_error_set(err, "%s; did you mean \"%s\"?", text, near);
    return pkb_error_set(err, "%s", text);
}

static void list_words(const char *const *words, size_t n, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        const char *before = i == 0 ? "" : (i + 1 == n ? " or " : ", ");
        (void)snprintf(text + used, size - used, "%s\"%s\"", before, words[i]);
    }
}

int sweep_word(const json_t *value, const char *const *words, size_t n, int *index, struct pkb_error *err)
{
    char expected[256];
    list_words(words, n, expected, sizeof(expected));
    if (!json_is_string(value))
        return pkb_error_set(err, "expected %s, found %s", expected, sweep_describe(value));
    const char *word = json_string_value(value);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], word) == 0) {
            *index = (int)i;
            return 0;
        }
    }
    return sweep_unknown(word, words, n, err, "expected %s, found \"%.100s\"", expected, word);
}

int sweep_keys(const json_t *value, const char *const *words, size_t n, struct pkb_error *err)
{
    const char *key;
    json_t *member;
    char expected[256];
    list_words(words, n, expected, sizeof(expected));
    if (!json_is_object(value) && !(json_is_array(value) && json_array_size(value) == 0))
        return pkb_error_set(err, "expected a table with %s, found %s", expected, sweep_describe(value));
    json_object_foreach((json_t *)value, key, member)
    {
        size_t i = 0;
        while (i < n && strcmp(words[i], key) != 0)
            i++;
        if (i == n)
            return sweep_unknown(key, words, n, err, "unknown key '%.100s', expected %s", key, expected);
    }
    return 0;
}

static int each_entry(struct sweep_reader *r, const json_t *value, int depth, sweep_each_fn *each, struct pkb_error *err)
{
    if (!json_is_array(value)) {
        r->entry = json_is_string(value) ? json_string_value(value) : NULL;
        return each(r, value, err);
    }
    if (depth == 2)
        return pkb_error_set(err, "lists are nested too deeply");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *entry = json_array_get(value, i);
        if (each_entry(r, entry, depth + 1, each, err) < 0) /* a text is quoted in the message */
            return depth == 0 && !json_is_string(entry) ? pkb_error_prefix(err, "entry %zu", i + 1) : -1;
    }
    return 0;
}

int sweep_each(struct sweep_reader *r, const json_t *value, sweep_each_fn *each, struct pkb_error *err)
{
    if (json_is_array(value) && json_array_size(value) == 0)
        return pkb_error_set(err, "the list is empty");
    int rc = each_entry(r, value, 0, each, err);
    if (rc == 0)
        r->entry = NULL;
    return rc;
}
