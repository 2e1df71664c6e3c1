/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap primitive: everybody's blob to everybody, through the agents. */
#include <stdlib.h>
#include <string.h>

#include "node_agent/runner.h"
#include "util/json.h"

static int ask(struct runner *r, const void *blob, size_t size, struct pkb_error *err)
{
    json_t *hex = protocol_hex_encode(blob, size);
    json_t *message = hex ? json_pack("{s:o}", "exchange", hex) : NULL;
    if (!message)
        return pkb_error_set(err, "cannot encode %zu bytes", size);
    int rc = lines_send(r->lines, message, -1, err);
    json_decref(message);
    return rc;
}

static int take_blob(const json_t *hex, size_t size, char *to, struct pkb_error *err)
{
    void *data;
    size_t n;
    if (protocol_hex_decode(hex, size, &data, &n, err) < 0)
        return -1;
    if (n == size)
        memcpy(to, data, size);
    free(data);
    return n == size ? 0 : pkb_error_set(err, "%zu bytes, expected %zu", n, size);
}

static int take_answer(struct runner *r, const json_t *answer, size_t size, char *all, struct pkb_error *err)
{
    json_t *blobs;
    size_t world = (size_t)r->setting.world;
    if (pkb_json_array(answer, "all", &blobs, err) < 0)
        return -1;
    if (json_array_size(blobs) != world)
        return pkb_error_set(err, "all: %zu blobs, expected %zu", json_array_size(blobs), world);
    for (size_t q = 0; q < world; q++)
        if (take_blob(json_array_get(blobs, q), size, all + q * size, err) < 0)
            return pkb_error_prefix(err, "all: blob of rank %zu", q);
    return 0;
}

int runner_exchange(void *arg, const void *blob, size_t size, void *all, struct pkb_error *err)
{
    struct runner *r = arg;
    json_t *answer = NULL;
    if (size > PROTOCOL_MAX_BLOB)
        return pkb_error_set(err, "exchange: %zu bytes, at most %d are allowed", size, PROTOCOL_MAX_BLOB);
    if (ask(r, blob, size, err) < 0)
        return pkb_error_prefix(err, "exchange");
    if (lines_receive(r->lines, -1, &answer, err) != 1)
        return pkb_error_prefix(err, "exchange");
    int rc = take_answer(r, answer, size, all, err);
    json_decref(answer);
    return rc < 0 ? pkb_error_prefix(err, "exchange") : 0;
}
