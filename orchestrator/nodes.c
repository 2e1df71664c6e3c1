/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/nodes.h"

#include <stdio.h>
#include <string.h>

#include "results/record_files.h"
#include "util/json.h"

/* Records without an error that are looked at: enough to meet every node of a large allocation. */
#define ENOUGH 20000

struct reading {
    struct nodes *nodes;
    uint64_t looked_at;
};

static struct node *find(struct nodes *nodes, const char *host)
{
    for (size_t i = 0; i < nodes->n; i++)
        if (strcmp(nodes->list[i].host, host) == 0)
            return &nodes->list[i];
    if (nodes->n == NODES_MAX || strlen(host) >= sizeof(nodes->list[0].host))
        return NULL;
    struct node *node = &nodes->list[nodes->n++];
    (void)snprintf(node->host, sizeof(node->host), "%s", host);
    return node;
}

/* Two ranks of a host count once. */
static bool seen_before(const json_t *hosts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (json_equal(json_array_get(hosts, k), json_array_get(hosts, i)))
            return true;
    return false;
}

static void count(struct nodes *nodes, const struct record *r, const json_t *hosts)
{
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const char *host = json_string_value(json_array_get(hosts, i));
        struct node *node = host ? find(nodes, host) : NULL;
        if (!node)
            continue;
        node->records += !seen_before(hosts, i);
        if (r->outcome != OUTCOME_INFRA_ERROR || r->rank != (int)i)
            continue;
        node->errors++;
        (void)snprintf(node->last, sizeof(node->last), "%.199s", r->detail);
    }
}

static int visit(void *arg, const struct record_scan *scan)
{
    struct reading *reading = arg;
    bool error = scan->kind == LINE_CELL && scan->cell.outcome == OUTCOME_INFRA_ERROR;
    if (scan->kind != LINE_CELL || (!error && reading->looked_at++ >= ENOUGH))
        return 0;
    json_t *line = pkb_json_parse(scan->line->text, scan->line->size, NULL);
    count(reading->nodes, &scan->cell, json_object_get(json_object_get(line, "more"), "hosts"));
    json_decref(line);
    return 0;
}

int nodes_read(struct nodes *nodes, const char *run, struct pkb_error *err)
{
    struct reading reading = {.nodes = nodes};
    nodes->n = 0;
    return record_files_scan(run, visit, &reading, err);
}

void nodes_failing(const struct nodes *nodes, uint64_t limit, char *list, size_t size)
{
    size_t failing = 0, used = 0;
    list[0] = '\0';
    for (size_t i = 0; limit > 0 && i < nodes->n; i++)
        failing += nodes->list[i].errors >= limit;
    if (2 * failing > nodes->n)
        return;
    for (size_t i = 0; failing > 0 && i < nodes->n; i++) {
        const struct node *node = &nodes->list[i];
        if (node->errors >= limit && used + strlen(node->host) + 2 < size)
            used += (size_t)snprintf(list + used, size - used, "%s%s", used ? "," : "", node->host);
    }
}
