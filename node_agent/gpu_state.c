/* SPDX-License-Identifier: Apache-2.0 */
/* What the state of a GPU means. */
#include "node_agent/gpu_state.h"

#include <stdio.h>
#include <string.h>

/* Numbers of NVIDIA's Xid catalogue: memory that cannot be corrected or remapped, the bus, NVLink, the GPU's own processors. Those
 * that are not listed (13, 31, 43, 45, ...) are what faulty kernels and killed processes cause. */
static const int hardware_xids[] = {46, 48, 54, 61, 62, 63, 64, 74, 79, 92, 94, 95, 109, 110, 119, 120, 121, 123, 140, 143};

static const struct {
    uint64_t bit;
    const char *text;
} throttle_bits[] = {
    {0x4, "power cap"},         {0x8, "hardware slowdown"}, {0x10, "sync boost"},      {0x20, "software thermal"},
    {0x40, "hardware thermal"}, {0x80, "power brake"},      {0x100, "display clocks"},
};

bool gpu_xid_is_hardware(int xid)
{
    for (size_t i = 0; i < sizeof(hardware_xids) / sizeof(hardware_xids[0]); i++)
        if (hardware_xids[i] == xid)
            return true;
    return false;
}

void gpu_throttle_describe(uint64_t bits, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; i < sizeof(throttle_bits) / sizeof(throttle_bits[0]); i++) {
        size_t used = strlen(text);
        if (bits & throttle_bits[i].bit)
            (void)snprintf(text + used, size - used, "%s%s", used ? ", " : "", throttle_bits[i].text);
    }
}

static int hardware_xid(const struct gpu_state *s)
{
    for (int i = 0; i < s->n_xids; i++)
        if (gpu_xid_is_hardware(s->xids[i]))
            return s->xids[i];
    return 0;
}

bool gpu_state_is_bad(const struct gpu_state *before, const struct gpu_state *after, char *why, size_t size)
{
    int xid = hardware_xid(before) ? hardware_xid(before) : hardware_xid(after);
    pid_t foreign = before->foreign ? before->foreign : after->foreign;
    int64_t errors = before->uncorrected >= 0 && after->uncorrected >= 0 ? after->uncorrected - before->uncorrected : 0;
    if (before->lost || after->lost)
        (void)snprintf(why, size, "the GPU is lost: %.150s", before->lost ? before->why : after->why);
    else if (xid != 0)
        (void)snprintf(why, size, "the GPU's driver reported Xid %d, a fault of the hardware or the driver", xid);
    else if (errors > 0)
        (void)snprintf(why, size, "the GPU had %lld uncorrected memory errors", (long long)errors);
    else if (foreign != 0)
        (void)snprintf(why, size, "process %d, which is not pkb's, was computing on the GPU", (int)foreign);
    else
        return false;
    return true;
}

static void set_unless_zero(json_t *object, const char *key, uint64_t value)
{
    if (value != 0)
        (void)json_object_set_new(object, key, json_integer((json_int_t)value));
}

json_t *gpu_state_encode(const struct gpu_state *s)
{
    char text[200];
    if (!s->known)
        return json_pack("{s:s}", "unknown", s->why);
    json_t *object = json_pack("{s:I}", "memory_used", (json_int_t)s->memory_used);
    set_unless_zero(object, "sm_mhz", s->sm_mhz);
    set_unless_zero(object, "sm_max_mhz", s->sm_max_mhz);
    set_unless_zero(object, "memory_mhz", s->memory_mhz);
    set_unless_zero(object, "celsius", s->celsius);
    set_unless_zero(object, "milliwatts", s->milliwatts);
    set_unless_zero(object, "foreign_pid", (uint64_t)s->foreign);
    if (s->uncorrected >= 0)
        (void)json_object_set_new(object, "ecc_uncorrected", json_integer(s->uncorrected));
    gpu_throttle_describe(s->throttle, text, sizeof(text));
    (void)json_object_set_new(object, "throttle", json_string(text));
    json_t *xids = s->n_xids > 0 ? json_array() : NULL;
    for (int i = 0; i < s->n_xids; i++)
        (void)json_array_append_new(xids, json_integer(s->xids[i]));
    if (xids)
        (void)json_object_set_new(object, "xids", xids);
    return object;
}
