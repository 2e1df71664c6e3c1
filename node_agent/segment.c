/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* ---- layout ------------------------------------------------------------------------------------------------------------ */

/* Appends `bytes` at the next aligned place behind *end. -1 on overflow. */
static int place(size_t bytes, size_t *end, size_t *offset)
{
    size_t aligned, next;
    if (__builtin_add_overflow(*end, (size_t)(SEGMENT_ALIGN - 1), &aligned))
        return -1;
    aligned &= ~(size_t)(SEGMENT_ALIGN - 1);
    if (__builtin_add_overflow(aligned, bytes, &next))
        return -1;
    *offset = aligned;
    *end = next;
    return 0;
}

static int round_stride(size_t end, size_t *stride)
{
    return place(0, &end, stride);
}

static int describe_evidence(const struct problem_setting *s, struct segment_layout *l, struct pkb_error *err)
{
    l->n_evidence = problem_evidence_of(s, l->evidence);
    if (l->n_evidence < 0 || l->n_out + l->n_evidence > PROBLEM_MAX_TENSORS)
        return pkb_error_set(err, "%d outputs, %d tensors of evidence", l->n_out, l->n_evidence);
    for (int i = 0; i < l->n_evidence; i++)
        if (tensor_bytes(&l->evidence[i].form, &l->evidence_bytes[i], err) < 0)
            return pkb_error_prefix(err, "evidence %s", l->evidence[i].name);
    return 0;
}

static int describe(const struct problem_setting *s, struct segment_layout *l, struct pkb_error *err)
{
    l->n_in = s->problem->inputs(s, l->in);
    l->n_out = s->problem->outputs(s, l->out);
    if (l->n_in < 0 || l->n_in > PROBLEM_MAX_TENSORS || l->n_out < 1 || l->n_out > PROBLEM_MAX_TENSORS)
        return pkb_error_set(err, "%d inputs, %d outputs", l->n_in, l->n_out);
    for (int i = 0; i < l->n_in; i++)
        if (tensor_bytes(&l->in[i].form, &l->in_bytes[i], err) < 0)
            return pkb_error_prefix(err, "input %s", l->in[i].name);
    for (int i = 0; i < l->n_out; i++) {
        if (tensor_bytes(&l->out[i].form, &l->out_bytes[i], err) < 0)
            return pkb_error_prefix(err, "output %s", l->out[i].name);
        problem_check_for(s, i, &l->check[i]);
    }
    return describe_evidence(s, l, err);
}

static int place_set(struct segment_layout *l)
{
    size_t end = PROBLEM_MAX_PARAMS * sizeof(double);
    for (int i = 0; i < l->n_in; i++)
        if (place(l->in_bytes[i], &end, &l->in_offset[i]) < 0)
            return -1;
    return round_stride(end, &l->in_stride);
}

static int place_expected(struct segment_layout *l)
{
    size_t end = 0;
    for (int i = 0; i < l->n_out; i++)
        if (place(l->out_bytes[i], &end, &l->expected_offset[i]) < 0)
            return -1;
    for (int i = 0; i < l->n_out; i++) {
        size_t bytes = 0, element = dtype_size(l->out[i].form.dtype);
        if (l->check[i].kind == CHECK_BOUND && __builtin_mul_overflow(l->out_bytes[i] / element, sizeof(float), &bytes))
            return -1;
        if (place(bytes, &end, &l->tolerance_offset[i]) < 0)
            return -1;
    }
    for (int i = 0; i < l->n_evidence; i++)
        if (place(l->evidence_bytes[i], &end, &l->evidence_offset[i]) < 0)
            return -1;
    return round_stride(end, &l->expected_stride);
}

static int place_slot(struct segment_layout *l)
{
    size_t end = PROBLEM_MAX_TENSORS * sizeof(pkb_tensor);
    for (int i = 0; i < l->n_out; i++)
        if (place(l->out_bytes[i], &end, &l->out_offset[i]) < 0)
            return -1;
    for (int i = 0; i < l->n_in; i++)
        if (place(l->in_bytes[i], &end, &l->after_offset[i]) < 0)
            return -1;
    return round_stride(end, &l->slot_stride);
}

static int place_all(struct segment_layout *l, size_t *total)
{
    size_t sets = (size_t)l->sets, slots = (size_t)l->trials + (size_t)l->samples;
    if (place_set(l) < 0 || place_expected(l) < 0 || place_slot(l) < 0)
        return -1;
    if (__builtin_mul_overflow(l->in_stride, sets, &l->inputs_size) ||
        __builtin_mul_overflow(l->expected_stride, sets, &l->expected_size) ||
        __builtin_mul_overflow(l->slot_stride, slots, &l->slots_size))
        return -1;
    if (__builtin_add_overflow(l->inputs_size, l->expected_size, total) || __builtin_add_overflow(*total, l->slots_size, total))
        return -1;
    return *total > INT64_MAX ? -1 : 0;
}

int segment_layout_make(const struct problem_setting *s, int trials, int timed_sets, int samples, size_t limit,
                        struct segment_layout *l, struct pkb_error *err)
{
    size_t total = 0;
    memset(l, 0, sizeof(*l));
    if (trials < 1 || trials > SEGMENT_MAX_SETS || timed_sets < 1 || timed_sets > SEGMENT_MAX_SETS || samples < 0 ||
        samples > SEGMENT_MAX_SETS)
        return pkb_error_set(err, "%s: %d trials, %d timed sets, %d samples: must be at least 1, 1, 0 and at most %d",
                             s->problem->name, trials, timed_sets, samples, SEGMENT_MAX_SETS);
    l->trials = trials;
    l->sets = trials + timed_sets;
    l->samples = samples;
    if (describe(s, l, err) < 0)
        return pkb_error_prefix(err, "%s", s->problem->name);
    if (place_all(l, &total) < 0)
        return pkb_error_set(err, "%s: the tensors are too large", s->problem->name);
    if (limit && total > limit)
        return pkb_error_set(err, "%s: %zu MB of shared memory are needed, the limit is %zu MB", s->problem->name, total >> 20,
                             limit >> 20);
    return 0;
}

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static int map(struct segment *seg, int protection, struct pkb_error *err)
{
    if (seg->size == 0)
        return 0;
    seg->data = mmap(NULL, seg->size, protection, MAP_SHARED, seg->fd, 0);
    if (seg->data == MAP_FAILED) {
        seg->data = NULL;
        return pkb_error_errno(err, "map %zu bytes of shared memory", seg->size);
    }
    return 0;
}

int segment_create(const char *name, size_t size, struct segment *seg, struct pkb_error *err)
{
    *seg = SEGMENT_NONE;
    if (size > INT64_MAX)
        return pkb_error_set(err, "shared memory %s: %zu bytes are too many", name, size);
    seg->fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (seg->fd < 0)
        return pkb_error_errno(err, "shared memory %s", name);
    seg->size = size;
    int rc = ftruncate(seg->fd, (off_t)size);
    if (rc < 0)
        pkb_error_errno(err, "%zu bytes", size);
    /* The size is final: a runner that shrank it would kill its agent with SIGBUS. */
    else if (fcntl(seg->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
        rc = pkb_error_errno(err, "seal the size");
    else
        rc = map(seg, PROT_READ | PROT_WRITE, err);
    if (rc == 0)
        return 0;
    segment_destroy(seg);
    return pkb_error_prefix(err, "shared memory %s", name);
}

int segment_map(int fd, size_t size, int writable, struct segment *seg, struct pkb_error *err)
{
    struct stat st;
    *seg = SEGMENT_NONE;
    if (fstat(fd, &st) < 0) {
        pkb_error_errno(err, "shared memory at descriptor %d", fd);
        return -1;
    }
    if (st.st_size < 0 || (size_t)st.st_size < size)
        return pkb_error_set(err, "shared memory at descriptor %d has %lld bytes, %zu are needed", fd, (long long)st.st_size,
                             size);
    seg->fd = fd;
    seg->size = size;
    if (map(seg, writable ? PROT_READ | PROT_WRITE : PROT_READ, err) == 0)
        return 0;
    *seg = SEGMENT_NONE; /* the descriptor stays the caller's */
    return -1;
}

int segment_seal(struct segment *seg, struct pkb_error *err)
{
    if (fcntl(seg->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) < 0)
        return pkb_error_errno(err, "seal shared memory");
    return 0;
}

void segment_destroy(struct segment *seg)
{
    if (!seg)
        return;
    int saved = errno;
    if (seg->data)
        (void)munmap(seg->data, seg->size);
    if (seg->fd >= 0)
        (void)close(seg->fd);
    *seg = SEGMENT_NONE;
    errno = saved;
}
