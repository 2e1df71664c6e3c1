/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/problem_notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/file.h"
#include "util/paths.h"

#define MAX_HEADER (1 << 20)

/* Length of the comments on top of a file: up to the first directive. */
static size_t top_length(const char *text)
{
    const char *end = text[0] == '#' ? text : strstr(text, "\n#");
    return end ? (size_t)(end - text) : strlen(text);
}

/* The file without the line of its licence. */
static char *read_top(const char *path, struct pkb_error *err)
{
    char *text = NULL, *top = NULL, *full = pkb_path(PKB_PATH_SHARE, path, err);
    size_t size;
    if (full && pkb_file_read(full, MAX_HEADER, &text, &size, err) == 0) {
        const char *line = strchr(text, '\n');
        line = line && strstr(text, "SPDX") < line ? line + 1 : text;
        top = strndup(line, top_length(line));
        if (!top)
            pkb_error_set(err, "out of memory");
        free(text);
    }
    free(full);
    return top;
}

static bool is_known(const struct problem_notes *n, const char *path)
{
    for (int i = 0; i < n->count; i++)
        if (strcmp(n->note[i].path, path) == 0)
            return true;
    return false;
}

/* The path of what is named `name` in a file at `from`: beside it unless the name has folders. Takes the name. */
static char *path_of(const char *from, char *name)
{
    const char *slash = strrchr(from, '/');
    char *path = NULL;
    if (!name || strchr(name, '/') || !slash)
        return name;
    if (asprintf(&path, "%.*s/%s", (int)(slash - from), from, name) < 0)
        path = NULL;
    free(name);
    return path;
}

/* Takes the path. */
static int add(struct problem_notes *n, char *path, struct pkb_error *err)
{
    if (!path)
        return pkb_error_set(err, "out of memory");
    if (is_known(n, path)) {
        free(path);
        return 0;
    }
    if (n->count == PROBLEM_NOTES_MAX) {
        free(path);
        return pkb_error_set(err, "more than %d headers", PROBLEM_NOTES_MAX);
    }
    n->note[n->count] = (struct problem_note){.path = path, .text = read_top(path, err)};
    return n->note[n->count++].text ? 0 : -1;
}

/* The headers that the comments on top of a file name. */
static int add_named(struct problem_notes *n, const char *from, const char *text, struct pkb_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_/";
    const char *end = text + top_length(text);
    for (const char *at = text; at < end;) {
        size_t length = strspn(at, letters);
        if (length > 0 && strncmp(at + length, ".h", 2) == 0 && strspn(at + length + 2, letters) == 0) {
            if (add(n, path_of(from, strndup(at, length + 2)), err) < 0)
                return -1;
        }
        at += length > 0 ? length : 1;
    }
    return 0;
}

int problem_notes_read(const char *path, const char *source, struct problem_notes *n, struct pkb_error *err)
{
    n->count = 0;
    if (add_named(n, path, source, err) < 0)
        return pkb_error_prefix(err, "%s", path);
    for (int i = 0; i < n->count; i++)
        if (add_named(n, n->note[i].path, n->note[i].text, err) < 0)
            return pkb_error_prefix(err, "%s", n->note[i].path);
    return 0;
}

void problem_notes_release(struct problem_notes *n)
{
    for (int i = 0; i < n->count; i++) {
        free(n->note[i].path);
        free(n->note[i].text);
    }
    n->count = 0;
}
