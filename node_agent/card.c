/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/card.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "node_agent/leftovers.h"
#include "node_agent/protocol.h"
#include "util/json.h"

/* ---- making ---------------------------------------------------------------------------------------------------------- */

/* IPv4 first: it is what cluster networks have in any case. Link-local addresses need a scope and are left out. */
static void add_address(struct card *c, const struct ifaddrs *i, int family)
{
    const struct sockaddr_in6 *six = (const void *)i->ifa_addr;
    if (!i->ifa_addr || i->ifa_addr->sa_family != family || c->n_addresses >= CARD_ADDRESSES)
        return;
    if ((i->ifa_flags & IFF_UP) == 0 || (i->ifa_flags & IFF_LOOPBACK) != 0)
        return;
    if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
        return;
    socklen_t size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (getnameinfo(i->ifa_addr, size, c->addresses[c->n_addresses], sizeof(c->addresses[0]), NULL, 0, NI_NUMERICHOST) == 0)
        c->n_addresses++;
}

static int find_addresses(struct card *c, struct pkb_error *err)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) < 0)
        return pkb_error_errno(err, "network interfaces");
    for (struct ifaddrs *i = list; i; i = i->ifa_next)
        add_address(c, i, AF_INET);
    for (struct ifaddrs *i = list; i; i = i->ifa_next)
        add_address(c, i, AF_INET6);
    freeifaddrs(list);
    return 0;
}

int card_make(struct card *c, const char *build_id, int port, struct pkb_error *err)
{
    *c = (struct card){.pid = getpid(), .port = port};
    (void)snprintf(c->build, sizeof(c->build), "%s", build_id);
    leftovers_prefix(c->shm_prefix, sizeof(c->shm_prefix));
    if (gethostname(c->host, sizeof(c->host) - 1) < 0)
        return pkb_error_errno(err, "gethostname");
    if (port == 0)
        return 0;
    if (getrandom(c->cookie, sizeof(c->cookie), 0) != (ssize_t)sizeof(c->cookie))
        return pkb_error_errno(err, "getrandom");
    return find_addresses(c, err);
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

char *card_encode(const struct card *c, struct pkb_error *err)
{
    json_t *list = json_array(), *cookie = protocol_hex_encode(c->cookie, sizeof(c->cookie));
    for (int i = 0; i < c->n_addresses; i++)
        (void)json_array_append_new(list, json_string(c->addresses[i]));
    json_t *value = json_pack("{s:s, s:s, s:s, s:I, s:i, s:o, s:o}", "host", c->host, "build", c->build, "shm", c->shm_prefix,
                              "pid", (json_int_t)c->pid, "port", c->port, "cookie", cookie, "addresses", list);
    char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    if (!text)
        pkb_error_set(err, "card: out of memory, or the host's name is not UTF-8");
    return text;
}

static int copy_text(const json_t *object, const char *key, char *to, size_t size, struct pkb_error *err)
{
    const char *text;
    if (pkb_json_string(object, key, &text, err) < 0)
        return -1;
    if (*text == '\0' || strlen(text) >= size)
        return pkb_error_set(err, "%s: empty or too long", key);
    memcpy(to, text, strlen(text) + 1);
    return 0;
}

static int decode_cookie(const json_t *object, struct card *c, struct pkb_error *err)
{
    void *data;
    size_t size;
    if (protocol_hex_decode(json_object_get(object, "cookie"), STAR_COOKIE, &data, &size, err) < 0)
        return pkb_error_prefix(err, "cookie");
    bool ok = size == STAR_COOKIE;
    if (ok)
        memcpy(c->cookie, data, size);
    free(data);
    return ok ? 0 : pkb_error_set(err, "cookie: wrong length");
}

static int decode_addresses(const json_t *object, struct card *c, struct pkb_error *err)
{
    json_t *list;
    if (pkb_json_array(object, "addresses", &list, err) < 0)
        return -1;
    if (json_array_size(list) > CARD_ADDRESSES)
        return pkb_error_set(err, "addresses: too many");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || strlen(text) >= sizeof(c->addresses[0]))
            return pkb_error_set(err, "addresses: entry %zu is not an address", i);
        memcpy(c->addresses[c->n_addresses++], text, strlen(text) + 1);
    }
    return 0;
}

static int decode(const json_t *object, struct card *c, struct pkb_error *err)
{
    int64_t port;
    if (copy_text(object, "host", c->host, sizeof(c->host), err) < 0 ||
        copy_text(object, "build", c->build, sizeof(c->build), err) < 0 ||
        copy_text(object, "shm", c->shm_prefix, sizeof(c->shm_prefix), err) < 0)
        return -1;
    if (pkb_json_int(object, "pid", 1, INT64_MAX, &c->pid, err) < 0 || pkb_json_int(object, "port", 0, 65535, &port, err) < 0)
        return -1;
    c->port = (int)port;
    return decode_cookie(object, c, err) < 0 || decode_addresses(object, c, err) < 0 ? -1 : 0;
}

int card_decode(const char *text, struct card *c, struct pkb_error *err)
{
    memset(c, 0, sizeof(*c));
    json_t *object = pkb_json_parse(text, strlen(text), err);
    int rc = object ? decode(object, c, err) : -1;
    json_decref(object);
    return rc < 0 ? pkb_error_prefix(err, "card") : 0;
}
