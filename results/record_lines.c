/* SPDX-License-Identifier: Apache-2.0 */
#include "results/record_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/record.h"

#define FIRST_CAPACITY (256 << 10)

struct reader {
    int fd;
    char *buffer;
    size_t capacity, used;
    struct record_line line; /* the next one */
    record_line_fn *visit;
    void *arg;
};

/* Reports the line at `text` and moves on to the next. */
static int emit(struct reader *r, const char *text, size_t size, bool complete)
{
    struct record_line *line = &r->line;
    size_t dropped = line->size; /* of a line that the buffer could not hold */
    line->text = text;
    line->size = dropped + size;
    line->complete = complete;
    line->too_long = line->size > RECORD_MAX_LINE;
    int rc = r->visit(r->arg, line);
    *line = (struct record_line){.number = line->number + 1, .offset = line->offset + (int64_t)line->size + 1};
    return rc;
}

/* Reports the complete lines of the buffer and keeps the rest. */
static int emit_lines(struct reader *r)
{
    char *from = r->buffer, *end = r->buffer + r->used;
    for (;;) {
        char *newline = memchr(from, '\n', (size_t)(end - from));
        if (!newline)
            break;
        int rc = emit(r, from, (size_t)(newline - from), true);
        if (rc != 0)
            return rc;
        from = newline + 1;
    }
    r->used = (size_t)(end - from);
    memmove(r->buffer, from, r->used);
    return 0;
}

/* Makes room: a larger buffer, or, for a line that is too long already, an empty one. */
static int make_room(struct reader *r, const char *path, struct pkb_error *err)
{
    if (r->used < r->capacity)
        return 0;
    if (r->used > RECORD_MAX_LINE) {
        r->line.size += r->used;
        r->used = 0;
        return 0;
    }
    size_t capacity = r->capacity ? 2 * r->capacity : FIRST_CAPACITY;
    char *buffer = realloc(r->buffer, capacity);
    if (!buffer)
        return pkb_error_errno(err, "%s: %zu bytes", path, capacity);
    r->buffer = buffer;
    r->capacity = capacity;
    return 0;
}

static int read_all(struct reader *r, const char *path, int64_t *size, struct pkb_error *err)
{
    for (;;) {
        if (make_room(r, path, err) < 0)
            return -1;
        ssize_t n = read(r->fd, r->buffer + r->used, r->capacity - r->used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return pkb_error_errno(err, "%s", path);
        if (n == 0)
            break;
        r->used += (size_t)n;
        *size += n;
        int rc = emit_lines(r);
        if (rc != 0)
            return rc;
    }
    return r->used > 0 || r->line.size > 0 ? emit(r, r->buffer, r->used, false) : 0;
}

int record_lines_read(const char *path, const struct record_start *start, record_line_fn *visit, void *arg, int64_t *size,
                      struct pkb_error *err)
{
    struct reader r = {.visit = visit, .arg = arg, .line.number = 1};
    int64_t bytes = 0;
    r.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r.fd < 0)
        return pkb_error_errno(err, "%s", path);
    int rc = 0;
    if (start && start->offset > 0) {
        r.line.number = start->lines + 1;
        r.line.offset = bytes = start->offset;
        rc = lseek(r.fd, start->offset, SEEK_SET) < 0 ? pkb_error_errno(err, "%s", path) : 0;
    }
    if (rc == 0)
        rc = read_all(&r, path, &bytes, err);
    (void)close(r.fd);
    free(r.buffer);
    if (size)
        *size = bytes;
    return rc;
}
