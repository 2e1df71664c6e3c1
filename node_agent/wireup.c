/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/wireup.h"

#include <errno.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "pkb.card"

struct wireup {
    bool launched; /* there is a PMIx server */
    bool connected;
    bool one_node;
    pmix_proc_t self;
    int rank, world;
    char **cards;
};

static int failed(struct pkb_error *err, const char *what, pmix_status_t rc)
{
    return pkb_error_set(err, "%s: %s", what, PMIx_Error_string(rc));
}

/* A number about the whole job. Optional: asking the server for what it does not know can hang. */
static int job_number(const struct wireup *w, const char *key, uint32_t *number)
{
    pmix_proc_t job;
    pmix_info_t info;
    pmix_value_t *value = NULL;
    bool optional = true;
    PMIX_PROC_LOAD(&job, w->self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &optional, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&job, key, &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (rc != PMIX_SUCCESS)
        return -1;
    bool ok = value->type == PMIX_UINT32;
    if (ok)
        *number = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return ok ? 0 : -1;
}

static int join_pmix(struct wireup *w, struct pkb_error *err)
{
    uint32_t size, local;
    pmix_status_t rc = PMIx_Init(&w->self, NULL, 0);
    if (rc != PMIX_SUCCESS)
        return failed(err, "cannot join the PMIx world", rc);
    w->connected = true;
    if (job_number(w, PMIX_JOB_SIZE, &size) < 0)
        return pkb_error_set(err, "the PMIx server does not say how many ranks there are");
    if (size < 1 || size > WIREUP_MAX_WORLD || w->self.rank >= size)
        return pkb_error_set(err, "PMIx says rank %u of %u ranks; at most %d are possible", w->self.rank, size, WIREUP_MAX_WORLD);
    w->rank = (int)w->self.rank;
    w->world = (int)size;
    w->one_node = job_number(w, PMIX_LOCAL_SIZE, &local) == 0 && local == size;
    return 0;
}

struct wireup *wireup_create(struct pkb_error *err)
{
    struct wireup *w = calloc(1, sizeof(*w));
    if (!w) {
        pkb_error_errno(err, "wire-up");
        return NULL;
    }
    w->world = 1;
    w->one_node = true;
    w->launched = getenv("PMIX_NAMESPACE") != NULL;
    if (w->launched && join_pmix(w, err) < 0) {
        wireup_destroy(w);
        return NULL;
    }
    w->cards = calloc((size_t)w->world, sizeof(*w->cards));
    if (!w->cards) {
        pkb_error_errno(err, "wire-up");
        wireup_destroy(w);
        return NULL;
    }
    return w;
}

void wireup_destroy(struct wireup *w)
{
    if (!w)
        return;
    int saved = errno;
    if (w->connected)
        (void)PMIx_Finalize(NULL, 0);
    for (int i = 0; w->cards && i < w->world; i++)
        free(w->cards[i]);
    free(w->cards);
    free(w);
    errno = saved;
}

int wireup_rank(const struct wireup *w)
{
    return w->rank;
}

int wireup_world(const struct wireup *w)
{
    return w->world;
}

bool wireup_launched(const struct wireup *w)
{
    return w->launched;
}

bool wireup_one_node(const struct wireup *w)
{
    return w->one_node;
}

static int put_card(const char *card, struct pkb_error *err)
{
    pmix_value_t value;
    PMIX_VALUE_LOAD(&value, card, PMIX_STRING);
    pmix_status_t rc = PMIx_Put(PMIX_GLOBAL, KEY, &value);
    PMIX_VALUE_DESTRUCT(&value);
    if (rc == PMIX_SUCCESS)
        rc = PMIx_Commit();
    return rc == PMIX_SUCCESS ? 0 : failed(err, "PMIx put", rc);
}

/* Collecting: a fence without data is no barrier across nodes with some launchers. */
static int fence(const struct wireup *w, int timeout_s, struct pkb_error *err)
{
    pmix_proc_t all;
    pmix_info_t info[2];
    bool collect = true;
    PMIX_PROC_LOAD(&all, w->self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    pmix_status_t rc = PMIx_Fence(&all, 1, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    return rc == PMIX_SUCCESS ? 0 : failed(err, "waiting for the other agents (PMIx fence)", rc);
}

static int get_card(struct wireup *w, int rank, struct pkb_error *err)
{
    pmix_proc_t proc;
    pmix_info_t info;
    pmix_value_t *value = NULL;
    bool immediate = true;
    PMIX_PROC_LOAD(&proc, w->self.nspace, (pmix_rank_t)rank);
    PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &immediate, PMIX_BOOL);
    pmix_status_t rc = PMIx_Get(&proc, KEY, &info, 1, &value);
    PMIX_INFO_DESTRUCT(&info);
    if (rc != PMIX_SUCCESS) {
        failed(err, "PMIx get", rc);
        return pkb_error_prefix(err, "card of rank %d", rank);
    }
    bool text = value->type == PMIX_STRING && value->data.string && strlen(value->data.string) <= WIREUP_MAX_CARD;
    w->cards[rank] = text ? strdup(value->data.string) : NULL;
    PMIX_VALUE_RELEASE(value);
    return w->cards[rank] ? 0 : pkb_error_set(err, "card of rank %d: not a short text", rank);
}

int wireup_exchange(struct wireup *w, const char *card, int timeout_s, struct pkb_error *err)
{
    if (!w->launched) {
        w->cards[0] = strdup(card);
        return w->cards[0] ? 0 : pkb_error_errno(err, "wire-up");
    }
    if (put_card(card, err) < 0 || fence(w, timeout_s, err) < 0)
        return -1;
    for (int i = 0; i < w->world; i++)
        if (get_card(w, i, err) < 0)
            return -1;
    return 0;
}

const char *wireup_card(const struct wireup *w, int rank)
{
    return w->cards[rank];
}
