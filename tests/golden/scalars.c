/* SPDX-License-Identifier: Apache-2.0 */
/* Scalars of a case: numbers, lists and words become parameters and tensors of the problem.
 *
 * A scalar goes to the parameter or the input of its own name, else where the table below says. A list goes to the parameters
 * <name>_0, <name>_1, ... or those that the table names. null means "not given": 0 for an integer parameter; others keep
 * their values.
 */
#include <stdio.h>
#include <string.h>

#include "tests/golden/case.h"
#include "util/json.h"

struct rule {
    int problem;
    const char *scalar;
    const char *params; /* separated by spaces, one per element of a list; "-" for one that follows from others */
    const char *words;  /* separated by spaces: the number of a word is its position */
    const char *value;  /* JSON: what the problem has built in, so that nothing else can be checked */
};

/* Only what the problem's own names do not settle. */
static const struct rule rules[] = {
    {21, "p", NULL, NULL, "2.0"},
    {22, "p", NULL, NULL, "2.0"},
    {24, "num_experts", "E", NULL, NULL},
    {24, "top_k", "k", NULL, NULL},
    {25, "ignore", NULL, NULL, "-100"},
    {26, "num_experts", "E", NULL, NULL},
    {28, "num_experts", "E", NULL, NULL},
    {29, "num_experts", "E", NULL, NULL},
    {31, "num_experts", "E", NULL, NULL},
    {31, "top_k", "k", NULL, NULL},
    {32, "num_experts", "E", NULL, NULL},
    {32, "top_k", "k", NULL, NULL},
    {33, "scatter_dim", NULL, NULL, "0"},
    {33, "gather_dim", NULL, NULL, "1"},
    {35, "gather_dim", NULL, NULL, "0"},
    {36, "seq_dim", NULL, NULL, "1"},
    {36, "head_dim", NULL, NULL, "2"},
    {37, "seq_dim", NULL, NULL, "1"},
    {37, "head_dim", NULL, NULL, "2"},
    {38, "seq_dim", NULL, NULL, "1"},
    {38, "restore_shape", NULL, NULL, "true"},
    {39, "num_heads", "nh", NULL, NULL},
    {47, "shapes", NULL, NULL, "[[32, 16], [32], [8, 32], [8]]"},
    {49, "E", "-", NULL, NULL},
    {50, "E", "-", NULL, NULL},
    {51, "E", "-", NULL, NULL},
    {59, "s", "H X", NULL, NULL},
    {59, "dim", NULL, NULL, "[1, 2]"},
    {59, "norm", NULL, NULL, "\"ortho\""},
    {60, "s", "H X", NULL, NULL},
    {60, "dim", NULL, NULL, "[-2, -1]"},
    {60, "norm", NULL, NULL, "\"ortho\""},
    {61, "camera_model", NULL, NULL, "\"pinhole\""},
    {62, "psi_shape", "K nlat -", NULL, NULL},
    {62, "nlon_in", "-", NULL, NULL},
    {62, "nlon_out", "-", NULL, NULL},
    {64, "replace", NULL, NULL, "false"},
    {72, "zigzag", NULL, NULL, "true"},
    {76, "groups", NULL, NULL, "1"},
    {86, "coefficient_type", "type", "simple quintic polar_express aol", NULL},
    {86, "partition_dim", "pdim", NULL, NULL},
};

static const struct rule *find_rule(int problem, const char *scalar)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i].problem == problem && strcmp(rules[i].scalar, scalar) == 0)
            return &rules[i];
    }
    return NULL;
}

static int find_param(const struct problem *p, const char *name)
{
    for (int i = 0; i < p->n_params; i++) {
        if (strcmp(p->params[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* ---- values -------------------------------------------------------------------------------------------------------- */

/* The word at a position of a list that spaces separate; false when the list is shorter. */
static bool word_at(const char *list, size_t position, char *word, size_t size)
{
    while (position-- > 0) {
        list = strchr(list, ' ');
        if (!list)
            return false;
        list++;
    }
    (void)snprintf(word, size, "%.*s", (int)strcspn(list, " "), list);
    return true;
}

static int word_number(const char *scalar, const char *words, const char *value, double *number, struct pkb_error *err)
{
    char word[64];
    for (size_t i = 0; word_at(words, i, word, sizeof(word)); i++) {
        if (strcmp(word, value) == 0) {
            *number = (double)i;
            return 0;
        }
    }
    return pkb_error_set(err, "scalar %s is '%s', which is none of: %s", scalar, value, words);
}

static int to_number(const char *scalar, const struct rule *rule, const json_t *value, double *number, struct pkb_error *err)
{
    if (json_is_string(value) && rule && rule->words)
        return word_number(scalar, rule->words, json_string_value(value), number, err);
    if (!json_is_number(value) && !json_is_boolean(value))
        return pkb_error_set(err, "scalar %s is not a number", scalar);
    *number = json_is_number(value) ? json_number_value(value) : json_is_true(value);
    return 0;
}

/* A value that is built in must be the one of the case. */
static int check_value(const char *scalar, const char *built_in, const json_t *value, struct pkb_error *err)
{
    json_t *expected = json_loads(built_in, JSON_DECODE_ANY, NULL);
    bool same = json_equal(expected, value) ||
                (json_is_number(expected) && json_is_number(value) && json_number_value(expected) == json_number_value(value));
    json_decref(expected);
    return same ? 0 : pkb_error_set(err, "scalar %s is another than %s, which the problem has built in", scalar, built_in);
}

/* ---- parameters ---------------------------------------------------------------------------------------------------- */

/* Where values go: the parameters of a setting, checked, or of one rank's set. */
struct target {
    const struct golden_case *c;
    struct problem_setting *setting;
    double *params; /* of the set; NULL: the setting's */
    bool *fixed;
};

static int set_param(const struct target *to, const char *param, double number, struct pkb_error *err)
{
    struct problem_setting s = *to->setting;
    int i = find_param(s.problem, param);
    if (problem_setting_override(&s, param, number, err) < 0)
        return -1;
    if (to->params)
        to->params[i] = number;
    else
        *to->setting = s;
    if (to->fixed)
        to->fixed[i] = true;
    return 0;
}

static int set_null(const struct target *to, const char *param, struct pkb_error *err)
{
    int i = find_param(to->setting->problem, param);
    if (i < 0)
        return 0;
    if (to->setting->problem->params[i].integer)
        return set_param(to, param, 0, err);
    if (to->fixed)
        to->fixed[i] = true;
    return 0;
}

/* The parameter of a scalar, or of element i of a list (-1: no list). */
static bool param_name(const struct golden_case *c, const char *scalar, const struct rule *rule, int i, char *name, size_t size)
{
    if (i < 0)
        (void)snprintf(name, size, "%s", scalar);
    else
        (void)snprintf(name, size, "%s_%d", scalar, i);
    if (find_param(c->problem, name) >= 0 || !rule || !rule->params)
        return true;
    return word_at(rule->params, i < 0 ? 0 : (size_t)i, name, size);
}

static int set_number(const struct target *to, const char *scalar, const struct rule *rule, const json_t *value, int i,
                      struct pkb_error *err)
{
    char name[128];
    double number = 0;
    if (!param_name(to->c, scalar, rule, i, name, sizeof(name)))
        return pkb_error_set(err, "scalar %s has more than %d elements", scalar, i);
    if (strcmp(name, "-") == 0)
        return 0;
    if (json_is_null(value))
        return set_null(to, name, err);
    return to_number(scalar, rule, value, &number, err) < 0 ? -1 : set_param(to, name, number, err);
}

static bool is_input(const struct golden_case *c, const char *name)
{
    struct problem_tensor t[PROBLEM_MAX_TENSORS];
    int n = c->problem->inputs(&c->setting, t);
    for (int i = 0; i < n; i++) {
        if (strcmp(t[i].name, name) == 0)
            return true;
    }
    return false;
}

static int set_scalar(const struct target *to, const char *scalar, const json_t *value, struct pkb_error *err)
{
    const struct rule *rule = find_rule(to->c->problem->id, scalar);
    size_t i;
    const json_t *element;
    bool own = find_param(to->c->problem, scalar) >= 0;
    if (!own && is_input(to->c, scalar))
        return 0;
    if (!own && rule && rule->value)
        return check_value(scalar, rule->value, value, err);
    if (!json_is_array(value))
        return set_number(to, scalar, rule, value, -1, err);
    if (own)
        return pkb_error_set(err, "scalar %s is not a number", scalar);
    json_array_foreach(value, i, element)
    {
        if (set_number(to, scalar, rule, element, (int)i, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- ranks --------------------------------------------------------------------------------------------------------- */

/* Values of a scalar by rank, where they differ; else NULL. */
static const json_t *per_rank(const struct golden_case *c, const char *name)
{
    return json_object_get(json_object_get(c->meta, "scalars_per_rank"), name);
}

const json_t *golden_scalar(const struct golden_case *c, const char *name, int rank)
{
    const json_t *list = per_rank(c, name);
    return list ? json_array_get(list, (size_t)rank) : json_object_get(json_object_get(c->meta, "scalars"), name);
}

/* The rank with the largest value. */
static const json_t *largest(const json_t *list)
{
    const json_t *best = json_array_get(list, 0), *value;
    size_t i;
    json_array_foreach(list, i, value)
    {
        if (json_number_value(value) > json_number_value(best))
            best = value;
    }
    return best;
}

static int check_per_rank(const struct golden_case *c, struct pkb_error *err)
{
    const char *name;
    const json_t *value;
    json_t *all = json_object_get(c->meta, "scalars_per_rank");
    json_object_foreach(all, name, value)
    {
        size_t i;
        const json_t *number;
        if (!json_is_array(value) || json_array_size(value) != (size_t)c->setting.world)
            return pkb_error_set(err, "scalars_per_rank: %s has not one value per rank", name);
        json_array_foreach(value, i, number)
        {
            if (!json_is_number(number))
                return pkb_error_set(err, "scalars_per_rank: %s is not a number", name);
        }
    }
    return 0;
}

int golden_scalars(struct golden_case *c, bool fixed[PROBLEM_MAX_PARAMS], struct pkb_error *err)
{
    const struct target to = {c, &c->setting, NULL, fixed};
    json_t *scalars;
    const char *name;
    json_t *value;
    if (pkb_json_object(c->meta, "scalars", &scalars, err) < 0 || check_per_rank(c, err) < 0)
        return -1;
    json_object_foreach(scalars, name, value)
    {
        const json_t *list = per_rank(c, name);
        if (set_scalar(&to, name, list ? largest(list) : value, err) < 0)
            return -1;
    }
    return 0;
}

int golden_rank_params(const struct golden_case *c, struct evaluation_rank *rank, struct pkb_error *err)
{
    struct problem_setting setting = c->setting;
    const struct target to = {c, &setting, rank->set.params, NULL};
    const char *name;
    json_t *list, *all = json_object_get(c->meta, "scalars_per_rank");
    json_object_foreach(all, name, list)
    {
        if (set_scalar(&to, name, json_array_get(list, (size_t)rank->setting.rank), err) < 0)
            return -1;
    }
    return 0;
}
