/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- status page --------------------------------------------------------------------------------------------------------- */

static const char *const stage_texts[STAGE_COUNT] = {
    [STAGE_STARTING] = "starting",
    [STAGE_SETUP] = "in pkb_setup",
    [STAGE_SOLUTION] = "in pkb_solution",
    [STAGE_BARRIER] = "in a barrier",
    [STAGE_ALLOC] = "in symm_alloc",
    [STAGE_IDLE] = "between commands",
    [STAGE_ENGINE] = "preparing or storing data",
    [STAGE_WAIT] = "waiting for the device",
    [STAGE_TEARDOWN] = "in pkb_teardown",
};

/* Stages that belong to one of many calls. */
static int has_call(uint32_t stage)
{
    return stage == STAGE_SOLUTION || stage == STAGE_BARRIER || stage == STAGE_ALLOC || stage == STAGE_ENGINE ||
           stage == STAGE_WAIT;
}

void runner_status_describe(const struct runner_status *s, char *text, size_t size)
{
    uint32_t stage = atomic_load(&s->stage), call = atomic_load(&s->call), timed = atomic_load(&s->timed);
    if (stage >= STAGE_COUNT)
        (void)snprintf(text, size, "in an unknown stage (the status page was overwritten)");
    else if (has_call(stage) && call != RUNNER_NO_CALL)
        (void)snprintf(text, size, "%s, %s %u", stage_texts[stage], timed ? "timed iteration" : "trial", call);
    else
        (void)snprintf(text, size, "%s", stage_texts[stage]);
}

/* ---- hexadecimal ----------------------------------------------------------------------------------------------------------- */

json_t *protocol_hex_encode(const void *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    if (size > PROTOCOL_MAX_LINE / 2)
        return NULL;
    char *text = malloc(2 * size + 1);
    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * size] = '\0';
    json_t *value = json_stringn(text, 2 * size);
    free(text);
    return value;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int protocol_hex_decode(const json_t *value, size_t limit, void **data, size_t *size, struct pkb_error *err)
{
    *data = NULL;
    *size = 0;
    if (!json_is_string(value))
        return pkb_error_set(err, "expected a hexadecimal string");
    const char *text = json_string_value(value);
    size_t n = json_string_length(value);
    if (n % 2 != 0)
        return pkb_error_set(err, "hexadecimal string of odd length %zu", n);
    if (n / 2 > limit)
        return pkb_error_set(err, "hexadecimal string of %zu bytes, at most %zu are allowed", n / 2, limit);
    unsigned char *bytes = malloc(n / 2 + 1);
    if (!bytes)
        return pkb_error_errno(err, "hexadecimal string of %zu bytes", n / 2);
    for (size_t i = 0; i < n / 2; i++) {
        int high = nibble(text[2 * i]), low = nibble(text[2 * i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return pkb_error_set(err, "hexadecimal string: bad digit at position %zu", 2 * i + (high < 0 ? 0 : 1));
        }
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    *data = bytes;
    *size = n / 2;
    return 0;
}
