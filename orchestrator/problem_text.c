/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/problem_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/command.h"
#include "orchestrator/problem_notes.h"
#include "util/file.h"
#include "util/json.h"
#include "util/paths.h"
#include "util/suggest.h"

#define MAX_SOURCE (1 << 20)

static const char *const shape_names[] = {[SHAPE_PAPER] = "paper", [SHAPE_TINY] = "tiny"};

#define MAX_PROBLEMS 256

const struct problem *problem_find(const char *name, struct pkb_error *err)
{
    const char *names[MAX_PROBLEMS];
    size_t n = 0;
    const struct problem *p = problem_by_name(name);
    if (p)
        return p;
    for (const struct problem *const *q = problem_registry; *q && n < MAX_PROBLEMS; q++)
        names[n++] = (*q)->name;
    const char *near = pkb_suggest(name, names, n);
    pkb_error_set(err, "there is no problem '%s'%s%s%s", name, near ? "; did you mean '" : "; 'pkb problems' lists them",
                  near ? near : "", near ? "'?" : "");
    return NULL;
}

struct tensors {
    int count;
    struct problem_tensor tensor[PROBLEM_MAX_TENSORS];
    bool differs[PROBLEM_MAX_TENSORS]; /* some rank has another shape */
};

/* One problem instance: rank 0 at a world size, bf16. */
struct instance {
    struct problem_setting setting;
    bool possible;
    struct pkb_error why_not;
    struct tensors in, out;
    struct problem_cost cost;
};

typedef int describe_fn(const struct problem_setting *s, struct problem_tensor *t);

static void describe(const struct problem_setting *setting, describe_fn *fn, struct tensors *t)
{
    struct problem_setting s = *setting;
    t->count = fn(&s, t->tensor);
    for (s.rank = 1; s.rank < s.world; s.rank++) {
        struct problem_tensor other[PROBLEM_MAX_TENSORS] = {0};
        (void)fn(&s, other);
        for (int k = 0; k < t->count; k++)
            if (memcmp(t->tensor[k].form.shape, other[k].form.shape, sizeof(other[k].form.shape)) != 0)
                t->differs[k] = true;
    }
}

static void make(struct instance *i, const struct problem *p, enum problem_shape shape, int world)
{
    memset(i, 0, sizeof(*i));
    problem_setting_init(&i->setting, p, shape, PKB_BF16, 0, world);
    i->possible = problem_setting_check(&i->setting, &i->why_not) == 0;
    if (!i->possible)
        return;
    describe(&i->setting, p->inputs, &i->in);
    describe(&i->setting, p->outputs, &i->out);
    p->cost(&i->setting, &i->cost);
}

/* The source of the reference, and the headers that its description refers to. */
struct text {
    char *source;
    struct problem_notes notes;
};

static void release_text(struct text *t)
{
    problem_notes_release(&t->notes);
    free(t->source);
}

static int read_text(const struct problem *p, struct text *t, struct pkb_error *err)
{
    size_t size;
    *t = (struct text){0};
    char *path = pkb_path(PKB_PATH_SHARE, p->source, err);
    int rc = path ? pkb_file_read(path, MAX_SOURCE, &t->source, &size, err) : -1;
    free(path);
    if (rc == 0)
        rc = problem_notes_read(p->source, t->source, &t->notes, err);
    if (rc < 0)
        release_text(t);
    return rc;
}

static const char *check_name(enum problem_check_kind kind)
{
    static const char *const names[] = {
        [CHECK_EXACT] = "exact", [CHECK_CLOSE] = "close", [CHECK_BOUND] = "bound", [CHECK_ROWS] = "rows", [CHECK_OWN] = "own"};
    return names[kind];
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------ */

json_t *problem_text_brief(const struct problem *p)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "id", p->id, "name", p->name, "family", p->family, "origin", p->origin,
                     "summary", p->summary, "worlds", p->worlds);
}

static json_t *encode_tensor(const struct tensors *list, int k, const struct tensors *in)
{
    const struct problem_tensor *t = &list->tensor[k];
    json_t *shape = json_array();
    for (int i = 0; i < t->form.ndim; i++)
        (void)json_array_append_new(shape, json_integer(t->form.shape[i]));
    return json_pack("{s:s, s:s, s:o, s:o*, s:o*, s:s*, s:s*, s:o*}", "name", t->name, "dtype", dtype_name(t->form.dtype),
                     "shape", shape, "differs", list->differs[k] ? json_true() : NULL, "host", t->host ? json_true() : NULL,
                     "in_place", t->in_place ? in->tensor[t->in_place - 1].name : NULL, "rows_in",
                     t->rows_in > 0 ? list->tensor[t->rows_in - 1].name : NULL, "partial",
                     t->rows_in == ROWS_ELSEWHERE ? json_true() : NULL);
}

static json_t *encode_tensors(const struct tensors *t, const struct tensors *in)
{
    json_t *list = json_array();
    for (int k = 0; k < t->count; k++)
        (void)json_array_append_new(list, encode_tensor(t, k, in));
    return list;
}

static json_t *encode_checks(const struct instance *i)
{
    json_t *list = json_array();
    for (int k = 0; k < i->out.count; k++) {
        struct problem_check c = {0};
        problem_check_for(&i->setting, k, &c);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:s, s:f, s:f, s:f, s:I, s:f, s:f}", "output", i->out.tensor[k].name, "kind",
                                              check_name(c.kind), "atol", c.atol, "rtol", c.rtol, "frobenius", c.frobenius, "row",
                                              (json_int_t)c.row, "row_max", c.row_max, "row_rms", c.row_rms));
    }
    return list;
}

static json_t *encode_instance(const struct instance *i)
{
    if (!i->possible)
        return json_pack("{s:b, s:s}", "possible", false, "reason", i->why_not.text);
    return json_pack("{s:b, s:o, s:o, s:o, s:{s:f, s:f, s:f}}", "possible", true, "inputs", encode_tensors(&i->in, &i->in),
                     "outputs", encode_tensors(&i->out, &i->in), "checks", encode_checks(i), "cost", "flops", i->cost.flops,
                     "hbm_bytes", i->cost.hbm_bytes, "link_bytes", i->cost.link_bytes);
}

static json_t *encode_params(const struct problem *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->n_params; i++) {
        const struct problem_param *q = &p->params[i];
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:o, s:o, s:b, s:s}", "name", q->name, "paper", pkb_json_number(q->paper),
                                              "tiny", pkb_json_number(q->tiny), "integer", q->integer, "meaning", q->meaning));
    }
    return list;
}

static json_t *encode_notes(const struct problem_notes *n)
{
    json_t *notes = json_object();
    for (int i = 0; i < n->count; i++)
        (void)json_object_set_new(notes, n->note[i].path, json_string(n->note[i].text));
    return notes;
}

int problem_text_show_json(const struct problem *p, int world, struct pkb_error *err)
{
    struct instance i;
    struct text text;
    int rc = 0;
    if (read_text(p, &text, err) < 0)
        return -1;
    json_t *v = problem_text_brief(p);
    if (json_object_set_new(v, "world", json_integer(world)) < 0 || json_object_set_new(v, "params", encode_params(p)) < 0 ||
        json_object_set_new(v, "source", json_string(text.source)) < 0 ||
        json_object_set_new(v, "notes", encode_notes(&text.notes)) < 0)
        rc = pkb_error_set(err, "out of memory");
    for (int s = SHAPE_PAPER; s <= SHAPE_TINY && rc == 0; s++) {
        make(&i, p, (enum problem_shape)s, world);
        if (json_object_set_new(v, shape_names[s], encode_instance(&i)) < 0)
            rc = pkb_error_set(err, "out of memory");
    }
    if (rc == 0)
        rc = command_print_json(v, 1, err);
    json_decref(v);
    release_text(&text);
    return rc;
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

static void print_marks(const struct tensors *list, int k, const struct tensors *in)
{
    const struct problem_tensor *t = &list->tensor[k];
    if (list->differs[k])
        printf(", differs between ranks");
    if (t->in_place)
        printf(", starts as %s", in->tensor[t->in_place - 1].name);
    if (t->rows_in > 0)
        printf(", rows counted by %s", list->tensor[t->rows_in - 1].name);
    if (t->rows_in == ROWS_ELSEWHERE)
        printf(", the first rows count");
    if (t->host)
        printf(", read by the host");
}

static void print_tensors(const char *title, const struct tensors *t, const struct tensors *in)
{
    for (int k = 0; k < t->count; k++) {
        const pkb_tensor *form = &t->tensor[k].form;
        printf("    %-8s %-16s %-9s [", k == 0 ? title : "", t->tensor[k].name, dtype_name(form->dtype));
        for (int d = 0; d < form->ndim; d++)
            printf("%s%" PRId64, d ? ", " : "", form->shape[d]);
        printf("]");
        print_marks(t, k, in);
        printf("\n");
    }
}

/* What an element and a row may differ by, where rows decide. */
static void print_rows_check(const struct problem_check *c)
{
    if (c->row > 0)
        printf(", rows of %" PRId64 " elements", c->row);
    else
        printf(", the whole tensor as one row");
    printf(
        ": |expected - actual| <= %g * rms(expected) + %g * |expected| + %g, rms(expected - actual) <= %g * rms(expected) + %g",
        c->row_max, c->rtol, c->atol, c->row_rms, c->atol);
}

static void print_checks(const struct instance *i)
{
    for (int k = 0; k < i->out.count; k++) {
        struct problem_check c = {0};
        problem_check_for(&i->setting, k, &c);
        printf("    %-8s %-16s %s", k == 0 ? "checks" : "", i->out.tensor[k].name, check_name(c.kind));
        if (c.kind == CHECK_CLOSE)
            printf(", |expected - actual| <= %g + %g * |expected|", c.atol, c.rtol);
        if (c.kind == CHECK_BOUND)
            printf(", |expected - actual| <= a bound per element, computed from the inputs");
        if (c.kind == CHECK_ROWS)
            print_rows_check(&c);
        if (c.kind == CHECK_OWN)
            printf(", as the problem's source says");
        if (c.frobenius > 0)
            printf(", relative Frobenius error <= %g", c.frobenius);
        printf("\n");
    }
}

static void print_instance(const struct instance *i, const char *name, int world)
{
    printf("\n%s, %d GPUs, bf16, rank 0\n", name, world);
    if (!i->possible) {
        printf("    cannot run: %s\n", i->why_not.text);
        return;
    }
    print_tensors("inputs", &i->in, &i->in);
    print_tensors("outputs", &i->out, &i->in);
    print_checks(i);
    printf("    %-8s %.4g flop, %.4g bytes of memory traffic, %.4g bytes sent\n", "cost", i->cost.flops, i->cost.hbm_bytes,
           i->cost.link_bytes);
}

int problem_text_show(const struct problem *p, int world, struct pkb_error *err)
{
    struct instance i;
    struct text text;
    if (read_text(p, &text, err) < 0)
        return -1;
    printf("%s: %s\n\n    family   %s\n    origin   %s\n    worlds   %s\n\nparameters\n", p->name, p->summary, p->family,
           p->origin, p->worlds);
    for (int k = 0; k < p->n_params; k++)
        printf("    %-8s paper %-10g tiny %-10g %s\n", p->params[k].name, p->params[k].paper, p->params[k].tiny,
               p->params[k].meaning);
    for (int s = SHAPE_PAPER; s <= SHAPE_TINY; s++) {
        make(&i, p, (enum problem_shape)s, world);
        print_instance(&i, shape_names[s], world);
    }
    for (int k = 0; k < text.notes.count; k++)
        printf("\nnotes (%s)\n\n%s", text.notes.note[k].path, text.notes.note[k].text);
    printf("\nreference (%s)\n\n%s", p->source, text.source);
    release_text(&text);
    return 0;
}
