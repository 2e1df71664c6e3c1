/* SPDX-License-Identifier: Apache-2.0 */
#include "node_agent/loop.h"

#include <stdlib.h>
#include <string.h>

#include "util/json.h"

#define EXTRA 2 /* wall and queue wait in front of the samples */

void loop_clear(struct loop *l)
{
    if (!l)
        return;
    free(l->ns);
    free(l->rows);
    free(l->wall_ns);
    free(l->queue_ns);
    *l = LOOP_NONE;
}

static int read_samples(const json_t *answer, int iterations, double *ns, struct pkb_error *err)
{
    json_t *list;
    if (pkb_json_array(answer, "ns", &list, err) < 0)
        return -1;
    if (json_array_size(list) != (size_t)iterations)
        return pkb_error_set(err, "ns: %zu samples for %d iterations", json_array_size(list), iterations);
    for (int i = 0; i < iterations; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        if (!json_is_number(value))
            return pkb_error_set(err, "ns: sample %d is not a number", i);
        ns[i] = json_number_value(value);
    }
    return iterations == 0 ? 0 : judge_samples(ns, iterations, iterations, err);
}

int loop_encode(const json_t *answer, int iterations, double wall_ns, double queue_ns, void **data, size_t *size,
                struct pkb_error *err)
{
    double *numbers = calloc((size_t)iterations + EXTRA, sizeof(*numbers));
    if (!numbers)
        return pkb_error_errno(err, "samples");
    numbers[0] = wall_ns;
    numbers[1] = queue_ns;
    if (read_samples(answer, iterations, numbers + EXTRA, err) < 0) {
        free(numbers);
        return -1;
    }
    *data = numbers;
    *size = ((size_t)iterations + EXTRA) * sizeof(*numbers);
    return 0;
}

static int allocate(struct loop *l, int world, int iterations, struct pkb_error *err)
{
    size_t w = (size_t)world;
    *l = (struct loop){.world = world, .iterations = iterations};
    l->ns = calloc(w * (size_t)iterations + 1, sizeof(*l->ns));
    l->rows = calloc(w, sizeof(*l->rows));
    l->wall_ns = calloc(w, sizeof(*l->wall_ns));
    l->queue_ns = calloc(w, sizeof(*l->queue_ns));
    if (l->ns && l->rows && l->wall_ns && l->queue_ns)
        return 0;
    loop_clear(l);
    return pkb_error_set(err, "samples: out of memory");
}

int loop_from_round(const struct rounds *r, int world, int iterations, struct loop *l, struct pkb_error *err)
{
    size_t n = (size_t)iterations;
    if (allocate(l, world, iterations, err) < 0)
        return -1;
    for (int i = 0; i < world; i++) {
        const struct round_entry *e = rounds_entry(r, i);
        if (e->size != (n + EXTRA) * sizeof(double)) {
            loop_clear(l);
            return pkb_error_set(err, "samples of rank %d have the wrong size", i);
        }
        memcpy(&l->wall_ns[i], e->data, sizeof(double));
        memcpy(&l->queue_ns[i], e->data + sizeof(double), sizeof(double));
        memcpy(l->ns + (size_t)i * n, e->data + EXTRA * sizeof(double), n * sizeof(double));
        l->rows[i] = l->ns + (size_t)i * n;
    }
    return 0;
}

struct judge_loop loop_for_judge(const struct loop *l)
{
    return (struct judge_loop){
        .world = l->world, .iterations = l->iterations, .ns = l->rows, .wall_ns = l->wall_ns, .queue_ns = l->queue_ns};
}

int loop_times(const struct loop *l, struct record_times *t, struct pkb_error *err)
{
    *t = (struct record_times){0};
    if (l->iterations == 0)
        return 0;
    double *longest = calloc((size_t)l->iterations, sizeof(*longest));
    if (!longest)
        return pkb_error_errno(err, "samples");
    for (int r = 0; r < l->world; r++)
        for (int i = 0; i < l->iterations; i++)
            if (l->rows[r][i] > longest[i])
                longest[i] = l->rows[r][i];
    record_times_from_samples(t, longest, l->iterations);
    free(longest);
    return 0;
}

json_t *loop_samples(const struct loop *l)
{
    if (l->iterations == 0)
        return NULL;
    json_t *all = json_array();
    for (int r = 0; r < l->world; r++) {
        json_t *row = json_array();
        for (int i = 0; i < l->iterations; i++)
            (void)json_array_append_new(row, json_integer((json_int_t)l->rows[r][i]));
        (void)json_array_append_new(all, row);
    }
    return all;
}
