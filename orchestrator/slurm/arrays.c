/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/arrays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void slurm_arrays_clear(struct slurm_arrays *arrays)
{
    for (size_t i = 0; i < arrays->n; i++)
        free(arrays->list[i].indexes);
    free(arrays->list);
    *arrays = (struct slurm_arrays){0};
}

/* The text of shards[0..n), all of one array. */
static char *format_indexes(const int *shards, size_t n, int base)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && shards[j] == shards[j - 1] + 1; j++)
            ;
        (void)fprintf(f, "%s%d", i ? "," : "", shards[i] - base);
        if (j - i > 1)
            (void)fprintf(f, "-%d", shards[j - 1] - base);
    }
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

static int append(struct slurm_arrays *arrays, const int *shards, size_t n, int base, struct pkb_error *err)
{
    struct slurm_array *list = realloc(arrays->list, (arrays->n + 1) * sizeof(*list));
    char *indexes = list ? format_indexes(shards, n, base) : NULL;
    if (list)
        arrays->list = list;
    if (!indexes)
        return pkb_error_set(err, "out of memory");
    list[arrays->n++] = (struct slurm_array){base, indexes, n};
    return 0;
}

int slurm_arrays_make(const int *shards, size_t n, uint32_t limit, struct slurm_arrays *arrays, struct pkb_error *err)
{
    *arrays = (struct slurm_arrays){0};
    if (limit < 1)
        return pkb_error_set(err, "this cluster has no job arrays (MaxArraySize is 0)");
    for (size_t i = 0, j; i < n; i = j) {
        uint32_t chunk = (uint32_t)shards[i] / limit;
        for (j = i + 1; j < n && (uint32_t)shards[j] / limit == chunk; j++)
            ;
        if (append(arrays, shards + i, j - i, (int)(chunk * limit), err) < 0) {
            slurm_arrays_clear(arrays);
            return -1;
        }
    }
    return 0;
}

/* The next range of a list. 1: there is one, 0: the end, -1: no list. */
static int next_range(const char **p, unsigned long *from, unsigned long *to)
{
    char *end;
    if (**p == '\0' || **p == '%')
        return 0;
    *from = *to = strtoul(*p, &end, 10);
    if (**p < '0' || **p > '9')
        return -1;
    if (*end == '-') {
        const char *start = end + 1;
        *to = strtoul(start, &end, 10);
        if (*start < '0' || *start > '9' || *to < *from)
            return -1;
    }
    if (*end == ',' && (end[1] < '0' || end[1] > '9'))
        return -1;
    if (*end != ',' && *end != '%' && *end != '\0')
        return -1;
    *p = end + (*end == ',');
    return 1;
}

bool slurm_arrays_mark(const char *indexes, int base, bool *wanted, size_t n)
{
    unsigned long from, to;
    int rc;
    while ((rc = next_range(&indexes, &from, &to)) == 1) {
        if (to >= n || (size_t)base + to >= n)
            return false;
        for (unsigned long i = from; i <= to; i++)
            wanted[(size_t)base + i] = true;
    }
    return rc == 0;
}

size_t slurm_arrays_count(const char *indexes)
{
    unsigned long from, to;
    size_t n = 0;
    int rc;
    while ((rc = next_range(&indexes, &from, &to)) == 1)
        n += to - from + 1;
    return rc == 0 ? n : 0;
}
