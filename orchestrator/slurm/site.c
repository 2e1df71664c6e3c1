/* SPDX-License-Identifier: Apache-2.0 */
/* The site file: YAML, a mapping of keys to values or lists of values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "orchestrator/slurm/settings.h"
#include "util/file.h"

#define MAX_FILE (1 << 20)
#define DEFAULT_SITE "/etc/pkb/site.yaml"

static json_t *convert_list(yaml_document_t *doc, const yaml_node_t *node)
{
    json_t *list = json_array();
    for (const yaml_node_item_t *i = node->data.sequence.items.start; list && i < node->data.sequence.items.top; i++) {
        const yaml_node_t *item = yaml_document_get_node(doc, *i);
        json_t *text = item && item->type == YAML_SCALAR_NODE ? json_string((const char *)item->data.scalar.value) : NULL;
        if (!text || json_array_append_new(list, text) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Scalars become texts; the settings' own readers know what they must be. */
static int convert_pair(yaml_document_t *doc, const yaml_node_pair_t *pair, json_t *object, struct pkb_error *err)
{
    const yaml_node_t *key = yaml_document_get_node(doc, pair->key), *node = yaml_document_get_node(doc, pair->value);
    size_t line = key ? key->start_mark.line + 1 : 0;
    json_t *value = NULL;
    if (!key || key->type != YAML_SCALAR_NODE)
        return pkb_error_set(err, "line %zu: expected a key", line);
    if (node && node->type == YAML_SCALAR_NODE)
        value = json_string((const char *)node->data.scalar.value);
    else if (node && node->type == YAML_SEQUENCE_NODE)
        value = convert_list(doc, node);
    const char *name = (const char *)key->data.scalar.value;
    if (!value)
        return pkb_error_set(err, "line %zu: %s: expected a value or a list of values", line, name);
    if (json_object_get(object, name)) {
        json_decref(value);
        return pkb_error_set(err, "line %zu: %s is there twice", line, name);
    }
    return json_object_set_new(object, name, value) < 0 ? pkb_error_set(err, "line %zu: out of memory", line) : 0;
}

static json_t *convert(yaml_document_t *doc, struct pkb_error *err)
{
    const yaml_node_t *root = yaml_document_get_root_node(doc);
    json_t *object = json_object();
    if (!root) /* an empty file */
        return object;
    int rc = object && root->type == YAML_MAPPING_NODE ? 0 : pkb_error_set(err, "expected lines of the form 'key: value'");
    for (const yaml_node_pair_t *p = root->data.mapping.pairs.start; rc == 0 && p < root->data.mapping.pairs.top; p++)
        rc = convert_pair(doc, p, object, err);
    if (rc == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *parse(const char *text, size_t size, struct pkb_error *err)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    json_t *object = NULL;
    if (!yaml_parser_initialize(&parser)) {
        pkb_error_set(err, "out of memory");
        return NULL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (yaml_parser_load(&parser, &doc)) {
        object = convert(&doc, err);
        yaml_document_delete(&doc);
    } else {
        pkb_error_set(err, "line %zu: %s", parser.problem_mark.line + 1, parser.problem ? parser.problem : "not YAML");
    }
    yaml_parser_delete(&parser);
    return object;
}

int slurm_settings_add_site(json_t *settings, const char *path, struct pkb_error *err)
{
    char *text;
    size_t size;
    if (!path)
        path = getenv("PKB_SITE");
    if (!path && !pkb_file_exists(DEFAULT_SITE))
        return 0;
    if (!path)
        path = DEFAULT_SITE;
    if (pkb_file_read(path, MAX_FILE, &text, &size, err) < 0)
        return pkb_error_prefix(err, "site file");
    json_t *site = parse(text, size, err);
    struct slurm_settings check = {0};
    int rc = site ? slurm_settings_decode(site, &check, err) : -1;
    if (rc == 0)
        rc = slurm_settings_add(settings, site, err);
    slurm_settings_clear(&check);
    json_decref(site);
    free(text);
    return rc < 0 ? pkb_error_prefix(err, "site file %s", path) : 0;
}
