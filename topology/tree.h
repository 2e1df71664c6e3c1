/* SPDX-License-Identifier: Apache-2.0 */
/* YAML files from anybody, as trees of maps, lists and texts.
 *
 * Strict: one document, no aliases, anchors or tags, no key twice, UTF-8, and limits on size and depth, so that no file can make its
 * reader large or slow. Numbers stay texts: whoever asks for one parses it.
 */
#ifndef PKB_TOPOLOGY_TREE_H
#define PKB_TOPOLOGY_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

#define TREE_MAX_BYTES 65536
#define TREE_MAX_DEPTH 8
#define TREE_MAX_TEXT 1024 /* bytes of a scalar */
#define TREE_MAX_NODES 4096

enum tree_kind { TREE_TEXT, TREE_LIST, TREE_MAP };

struct tree {
    enum tree_kind kind;
    int line;           /* from 1 */
    bool quoted;        /* a text in quotes, or a block: never a number */
    char *text;         /* of TREE_TEXT */
    char **keys;        /* of TREE_MAP, one per item */
    int *key_lines;     /* of TREE_MAP */
    struct tree *items; /* of TREE_LIST and TREE_MAP */
    size_t n;
};

/* Parses a text. The caller destroys the tree. NULL with the error set: "line 3: aliases are not allowed". */
struct tree *tree_read(const char *text, size_t size, struct pkb_error *err);
void tree_destroy(struct tree *t);

/* The item of a map, or NULL. */
const struct tree *tree_get(const struct tree *map, const char *key);

/* "a text", "a list", "a map" */
const char *tree_kind_name(const struct tree *t);

#endif
