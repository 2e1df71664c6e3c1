/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/arena.h"

#include <stdlib.h>

#define ALIGNMENT ((size_t)256)
#define FIRST_BLOCK ((size_t)1 << 20)
#define LARGEST_STEP ((size_t)256 << 20) /* blocks double in size up to this one */
#define TENSORS 128

struct block {
    void *data;
    size_t size, used;
    struct block *next;
};

struct tensors {
    pkb_tensor t[TENSORS];
    int used;
    struct tensors *next;
};

struct arena {
    const struct rt_backend *be;
    struct rt_device *dev;
    bool shared;
    struct block *blocks, *block; /* in order of creation; the one in use */
    struct tensors *forms, *form;
    size_t held;
};

struct arena *arena_create(const struct rt_backend *be, struct rt_device *dev, bool shared, struct pkb_error *err)
{
    struct arena *a = calloc(1, sizeof(*a));
    if (!a) {
        (void)pkb_error_set(err, "out of memory");
        return NULL;
    }
    a->be = be;
    a->dev = dev;
    a->shared = shared;
    return a;
}

static void release(struct arena *a, void *data)
{
    if (a->shared)
        a->be->release_shared(a->dev, data);
    else
        a->be->release(a->dev, data);
}

void arena_destroy(struct arena *a)
{
    if (!a)
        return;
    while (a->blocks) {
        struct block *next = a->blocks->next;
        release(a, a->blocks->data);
        free(a->blocks);
        a->blocks = next;
    }
    while (a->forms) {
        struct tensors *next = a->forms->next;
        free(a->forms);
        a->forms = next;
    }
    free(a);
}

static struct block *grow(struct arena *a, size_t bytes, struct pkb_error *err)
{
    size_t want = a->held < FIRST_BLOCK ? FIRST_BLOCK : a->held > LARGEST_STEP ? LARGEST_STEP : a->held;
    struct block *b = calloc(1, sizeof(*b));
    if (!b) {
        (void)pkb_error_set(err, "out of memory");
        return NULL;
    }
    b->size = bytes > want ? bytes : want;
    if (a->shared ? a->be->alloc_shared(a->dev, b->size, &b->data, err) : a->be->alloc(a->dev, b->size, &b->data, err)) {
        free(b);
        return NULL;
    }
    struct block **end = &a->blocks;
    while (*end)
        end = &(*end)->next;
    *end = b;
    a->held += b->size;
    return b;
}

int arena_storage(struct arena *a, size_t bytes, void **ptr, struct pkb_error *err)
{
    if (bytes > SIZE_MAX / 2)
        return pkb_error_set(err, "%zu bytes are too many", bytes);
    size_t rounded = bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    struct block *b = a->block ? a->block : a->blocks;
    while (b && b->size - b->used < rounded)
        b = b->next;
    if (!b)
        b = grow(a, rounded, err);
    if (!b)
        return -1;
    a->block = b;
    *ptr = (char *)b->data + b->used;
    b->used += rounded;
    return 0;
}

pkb_tensor *arena_tensor(struct arena *a, struct pkb_error *err)
{
    struct tensors *f = a->form;
    if (f && f->used == TENSORS && f->next)
        f = f->next;
    if (!f || f->used == TENSORS) {
        struct tensors *fresh = calloc(1, sizeof(*fresh));
        if (!fresh) {
            (void)pkb_error_set(err, "out of memory");
            return NULL;
        }
        if (f)
            f->next = fresh;
        else
            a->forms = fresh;
        f = fresh;
    }
    a->form = f;
    f->t[f->used] = (pkb_tensor){0};
    return &f->t[f->used++];
}

void arena_reset(struct arena *a)
{
    for (struct block *b = a->blocks; b; b = b->next)
        b->used = 0;
    for (struct tensors *f = a->forms; f; f = f->next)
        f->used = 0;
    a->block = a->blocks;
    a->form = a->forms;
}

size_t arena_held(const struct arena *a)
{
    return a->held;
}
