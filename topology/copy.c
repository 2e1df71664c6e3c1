/* SPDX-License-Identifier: Apache-2.0 */
/* What a run keeps of its machine's description. */
#include <stdlib.h>
#include <string.h>

#include "topology/topology.h"
#include "util/json.h"

int topology_digest(const struct topology *t, char hex[PKB_DIGEST_HEX], struct pkb_error *err)
{
    json_t *value = topology_encode(t);
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(value);
    if (!text)
        return pkb_error_set(err, "out of memory");
    int rc = pkb_digest_buffer(text, strlen(text), hex, err);
    free(text);
    return rc;
}

json_t *topology_copy_encode(const struct topology *t, struct pkb_error *err)
{
    char hex[PKB_DIGEST_HEX];
    if (topology_digest(t, hex, err) < 0)
        return NULL;
    json_t *value = json_pack("{s:s, s:s, s:o}", "name", t->name, "digest", hex, "content", topology_encode(t));
    if (!value)
        pkb_error_set(err, "out of memory");
    return value;
}

int topology_copy_decode(const json_t *value, struct topology *t, struct pkb_error *err)
{
    const char *name, *digest;
    json_t *content;
    char hex[PKB_DIGEST_HEX];
    if (pkb_json_string(value, "name", &name, err) < 0 || pkb_json_string(value, "digest", &digest, err) < 0 ||
        pkb_json_object(value, "content", &content, err) < 0)
        return -1;
    if (topology_decode(content, t, err) < 0)
        return pkb_error_prefix(err, "content");
    if (strcmp(name, t->name) != 0)
        return pkb_error_set(err, "name: '%.64s', but the content is named '%s'", name, t->name);
    if (topology_digest(t, hex, err) < 0)
        return -1;
    return strcmp(hex, digest) == 0 ? 0 : pkb_error_set(err, "digest: the content was changed, its digest is %.12s", hex);
}
