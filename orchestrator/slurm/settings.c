/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/suggest.h"

/* nvcc takes about 5 s for a candidate: 4 tasks of 8 compilers go through thousands in a quarter of an hour. */
#define DEFAULT_BUILD_TASKS 4
#define DEFAULT_BUILD_CPUS 8

/* One error may be chance, two the same cell tried twice. */
#define DEFAULT_BAD_NODE_ERRORS 3

enum kind { TEXT, COUNT, MINUTES, FLAG, LINES };

static const struct key {
    const char *name;
    enum kind kind;
    size_t offset;
    int min, max; /* COUNT */
} keys[] = {
#define AT(member) offsetof(struct slurm_settings, member)
    {"partition", TEXT, AT(partition), 0, 0},
    {"cpu_partition", TEXT, AT(cpu_partition), 0, 0},
    {"account", TEXT, AT(account), 0, 0},
    {"qos", TEXT, AT(qos), 0, 0},
    {"constraint", TEXT, AT(constraint), 0, 0},
    {"reservation", TEXT, AT(reservation), 0, 0},
    {"exclude", TEXT, AT(exclude), 0, 0},
    {"gpu", TEXT, AT(gpu), 0, 0},
    {"mpi", TEXT, AT(mpi), 0, 0},
    {"build", TEXT, AT(build), 0, 0},
    {"cuda_archs", TEXT, AT(cuda_archs), 0, 0},
    {"build_tasks", COUNT, AT(build_tasks), 1, 1000},
    {"build_cpus", COUNT, AT(build_cpus), 1, 1024},
    {"ranks_per_node", COUNT, AT(ranks_per_node), 1, 1024},
    {"cpus_per_rank", COUNT, AT(cpus_per_rank), 1, 1024},
    {"memory_mb", COUNT, AT(memory_mb), 1, 1 << 30},
    {"time", MINUTES, AT(minutes), 0, 0},
    {"wave", COUNT, AT(wave), 1, 1000000},
    {"bad_node_errors", COUNT, AT(bad_node_errors), 0, 1000000},
    {"throttle", COUNT, AT(throttle), 1, 1000000},
    {"signal_seconds", COUNT, AT(signal_seconds), 0, 65535},
    {"exclusive", FLAG, AT(exclusive), 0, 0},
    {"requeue", FLAG, AT(requeue), 0, 0},
    {"prolog", LINES, AT(prolog), 0, 0},
    {"srun_options", LINES, AT(srun_options), 0, 0},
#undef AT
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < N_KEYS; i++)
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    return NULL;
}

static int unknown(const char *name, struct pkb_error *err)
{
    const char *names[N_KEYS];
    for (size_t i = 0; i < N_KEYS; i++)
        names[i] = keys[i].name;
    const char *near = pkb_suggest(name, names, N_KEYS);
    return pkb_error_set(err, "slurm: %s: unknown key%s%s%s", name, near ? "; did you mean \"" : "", near ? near : "",
                         near ? "\"?" : " (docs/slurm.md lists them)");
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

/* Texts go into #SBATCH lines: no blanks, quotes or control characters. */
static int decode_text(const json_t *value, char **to, struct pkb_error *err)
{
    const char *text = json_string_value(value);
    if (!text || !*text)
        return pkb_error_set(err, "expected a text");
    for (const char *p = text; *p; p++)
        if (!isgraph((unsigned char)*p) || strchr("'\"\\`$#", *p))
            return pkb_error_set(err, "'%s' holds a blank or a character that has a meaning to the shell", text);
    free(*to);
    *to = strdup(text);
    return *to ? 0 : pkb_error_set(err, "out of memory");
}

static int decode_count(const struct key *k, const json_t *value, int *to, struct pkb_error *err)
{
    const char *text = json_string_value(value);
    char *end = NULL;
    errno = 0;
    long long number = text ? strtoll(text, &end, 10) : json_integer_value(value);
    bool ok = text ? end != text && !*end && errno == 0 : json_is_integer(value);
    if (!ok || number < k->min || number > k->max)
        return pkb_error_set(err, "expected a whole number from %d to %d", k->min, k->max);
    *to = (int)number;
    return 0;
}

/* Minutes, "HH:MM:SS" or "D-HH:MM:SS"; seconds are rounded up. */
static int decode_minutes(const json_t *value, int *to, struct pkb_error *err)
{
    const char *text = json_string_value(value);
    unsigned days = 0, hours = 0, minutes = 0, seconds = 0;
    int used = 0;
    if (json_is_integer(value)) {
        json_int_t n = json_integer_value(value);
        minutes = n > 0 && n < 1000000 ? (unsigned)n : 0;
    } else if (text && sscanf(text, "%5u-%3u:%2u:%2u%n", &days, &hours, &minutes, &seconds, &used) == 4 && !text[used]) {
        /* all four */
    } else if (text && sscanf(text, "%5u:%2u:%2u%n", &hours, &minutes, &seconds, &used) == 3 && !text[used]) {
        days = 0;
    } else if (text && sscanf(text, "%6u%n", &minutes, &used) == 1 && !text[used]) {
        days = hours = 0;
    } else {
        minutes = hours = days = seconds = 0;
    }
    unsigned long total = days * 1440UL + hours * 60UL + minutes + (seconds > 0);
    if (total < 1 || total > 1000000)
        return pkb_error_set(err, "expected minutes, \"HH:MM:SS\" or \"D-HH:MM:SS\"");
    *to = (int)total;
    return 0;
}

static int decode_flag(const json_t *value, bool *to, struct pkb_error *err)
{
    const char *text = json_string_value(value);
    bool yes = json_is_true(value) || (text && (strcmp(text, "true") == 0 || strcmp(text, "yes") == 0));
    bool no = json_is_false(value) || (text && (strcmp(text, "false") == 0 || strcmp(text, "no") == 0));
    if (!yes && !no)
        return pkb_error_set(err, "expected true or false");
    *to = yes;
    return 0;
}

static int add_line(struct words *to, const json_t *value, struct pkb_error *err)
{
    const char *line = json_string_value(value);
    if (!line || strpbrk(line, "\n\r"))
        return pkb_error_set(err, "expected a line of text, or a list of them");
    return words_add(to, err, "%s", line);
}

static int decode_lines(const json_t *value, struct words *to, struct pkb_error *err)
{
    words_clear(to);
    if (!json_is_array(value))
        return add_line(to, value, err);
    for (size_t i = 0; i < json_array_size(value); i++)
        if (add_line(to, json_array_get(value, i), err) < 0)
            return -1;
    return 0;
}

static int decode_key(const struct key *k, const json_t *value, struct slurm_settings *s, struct pkb_error *err)
{
    void *to = (char *)s + k->offset;
    int rc = -1;
    switch (k->kind) {
    case TEXT:
        rc = decode_text(value, to, err);
        break;
    case COUNT:
        rc = decode_count(k, value, to, err);
        break;
    case MINUTES:
        rc = decode_minutes(value, to, err);
        break;
    case FLAG:
        rc = decode_flag(value, to, err);
        break;
    case LINES:
        rc = decode_lines(value, to, err);
        break;
    }
    return rc < 0 ? pkb_error_prefix(err, "slurm: %s", k->name) : 0;
}

int slurm_settings_decode(json_t *settings, struct slurm_settings *s, struct pkb_error *err)
{
    const char *name;
    const json_t *value;
    *s = (struct slurm_settings){.ranks_per_node = 8,
                                 .signal_seconds = 120,
                                 .exclusive = true,
                                 .requeue = true,
                                 .bad_node_errors = DEFAULT_BAD_NODE_ERRORS,
                                 .build_tasks = DEFAULT_BUILD_TASKS,
                                 .build_cpus = DEFAULT_BUILD_CPUS};
    s->mpi = strdup("pmix");
    if (!s->mpi)
        return pkb_error_set(err, "out of memory");
    json_object_foreach(settings, name, value)
    {
        const struct key *k = find_key(name);
        if (!k)
            return unknown(name, err);
        if (decode_key(k, value, s, err) < 0)
            return -1;
    }
    if (s->build && strcmp(s->build, "here") != 0 && strcmp(s->build, "jobs") != 0)
        return pkb_error_set(err, "slurm: build: expected \"here\" or \"jobs\", found \"%s\"", s->build);
    return 0;
}

bool slurm_settings_build_by_jobs(const struct slurm_settings *s)
{
    return s->build ? strcmp(s->build, "jobs") == 0 : s->cpu_partition != NULL;
}

void slurm_settings_clear(struct slurm_settings *s)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        void *at = (char *)s + keys[i].offset;
        if (keys[i].kind == TEXT)
            free(*(char **)at);
        else if (keys[i].kind == LINES)
            words_clear(at);
    }
    *s = (struct slurm_settings){0};
}

/* ---- sources --------------------------------------------------------------------------------------------------------- */

int slurm_settings_add(json_t *settings, json_t *more, struct pkb_error *err)
{
    return json_object_update(settings, more) < 0 ? pkb_error_set(err, "out of memory") : 0;
}

static json_t *split_lines(const char *text)
{
    json_t *list = json_array();
    for (const char *p = text; list && *p;) {
        size_t n = strcspn(p, ";");
        (void)json_array_append_new(list, json_stringn(p, n));
        p += n + (p[n] == ';');
    }
    return list;
}

int slurm_settings_add_text(json_t *settings, const char *text, struct pkb_error *err)
{
    char name[64];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= sizeof(name))
        return pkb_error_set(err, "--slurm: expected KEY=VALUE, found '%s'", text);
    (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
    const struct key *k = find_key(name);
    if (!k)
        return unknown(name, err);
    json_t *value = k->kind == LINES ? split_lines(equals + 1) : json_string(equals + 1);
    return json_object_set_new(settings, name, value) < 0 ? pkb_error_set(err, "--slurm: '%s' is not UTF-8", text) : 0;
}
