/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_agent/build.h"
#include "orchestrator/attempt.h"
#include "orchestrator/eval.h"
#include "results/record.h"
#include "results/record_files.h"
#include "util/file.h"
#include "util/json.h"

#define LOG_BYTES 4096
#define MAX_LOG (64 << 20)

/* ---- the record ------------------------------------------------------------------------------------------------------- */

static bool is_final(const json_t *record)
{
    int o = outcome_parse(json_string_value(json_object_get(record, "outcome")));
    return o >= 0 && outcome_is_final((enum outcome)o);
}

/* Keeps the first final record, else the last of the others. */
static int keep(void *arg, int64_t line, json_t *value, const char *reason)
{
    json_t **best = arg;
    (void)line, (void)reason;
    const char *outcome = value ? json_string_value(json_object_get(value, "outcome")) : NULL;
    if (!outcome || outcome_parse(outcome) < 0 || (*best && is_final(*best)))
        return 0;
    json_decref(*best);
    *best = json_incref(value);
    return 0;
}

static int find_record(const char *run, json_t **record, struct pkb_error *err)
{
    struct record_files list = {0};
    *record = NULL;
    if (record_files_list(run, &list, err) < 0)
        return -1;
    int rc = 0;
    for (size_t i = 0; i < list.n && rc == 0; i++) {
        char *path = pkb_format(err, "%s/records/%s", run, list.files[i].name);
        rc = path ? record_file_read(path, keep, record, err) : -1;
        free(path);
    }
    record_files_destroy(&list);
    return rc;
}

/* ---- the log ---------------------------------------------------------------------------------------------------------- */

/* The end of a file, from the start of a line; NULL when there is none. */
static char *tail(const char *path)
{
    char *data = NULL, *text;
    size_t size;
    if (pkb_file_read(path, MAX_LOG, &data, &size, NULL) < 0)
        return NULL;
    const char *from = data;
    if (size > LOG_BYTES) {
        from = data + size - LOG_BYTES;
        const char *line = strchr(from, '\n');
        from = line ? line + 1 : from;
    }
    text = *from ? strdup(from) : NULL;
    free(data);
    return text;
}

static char *compile_log(const struct engine *e)
{
    struct build_result b;
    char key[PKB_DIGEST_HEX], *text = NULL;
    const struct plan_candidate *c = &e->plan->candidates[0];
    struct build_toolchain *t = build_toolchain_find(c->kind, NULL);
    if (t && build_key(t, c->digest, key, NULL) == 0 && build_lookup(e->run->build_cache, key, &b, NULL) == 0 &&
        b.status == BUILD_COMPILE_ERROR)
        text = tail(b.log);
    build_toolchain_destroy(t);
    return text;
}

static char *attempt_log(const struct engine *e, const json_t *record)
{
    int64_t attempt = 1, rank = 0;
    char *text = NULL;
    if (record) {
        (void)pkb_json_int(record, "attempt", 1, INT32_MAX, &attempt, NULL);
        (void)pkb_json_int(record, "rank", 0, INT32_MAX, &rank, NULL);
    }
    char *folder = attempt_log_dir(e->run->path, 0, (int)attempt, NULL);
    char *runner = folder ? pkb_format(NULL, "%s/runner-%03d.log", folder, (int)rank) : NULL;
    char *agent = folder ? pkb_format(NULL, "%s/agent-%03d.log", folder, (int)rank) : NULL;
    text = runner && record ? tail(runner) : NULL;
    if (!text && agent && (!record || !is_final(record)))
        text = tail(agent);
    free(runner);
    free(agent);
    free(folder);
    return text;
}

/* Text for JSON: what is not UTF-8 becomes '?'. */
static json_t *log_string(char *text)
{
    json_t *v = json_string(text ? text : "");
    for (char *p = text; !v && p && *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    return v ? v : json_string(text);
}

json_t *eval_result(const struct engine *e, const struct eval_request *r, struct pkb_error *err)
{
    json_t *record = NULL;
    char *log = NULL;
    if (e->run && find_record(e->run->path, &record, err) < 0)
        return NULL;
    if (e->run) {
        log = compile_log(e);
        if (!log)
            log = attempt_log(e, record);
    }
    const char *why = e->builds && e->builds->failed[0] ? e->builds->failed[0] : NULL;
    json_t *v = json_pack("{s:o, s:o, s:s?, s:s?, s:i}", "record", record ? record : json_null(), "log", log_string(log),
                          "reason", why, "run", r->keep && e->run ? e->run->path : NULL, "exit", e->code);
    free(log);
    if (!v)
        pkb_error_set(err, "out of memory");
    return v;
}

/* ---- for people ------------------------------------------------------------------------------------------------------- */

static void print_time(const char *what, const json_t *record, const char *key)
{
    double mean = json_number_value(json_object_get(json_object_get(record, key), "mean"));
    if (mean <= 0)
        return;
    const char *unit = mean >= 1e9 ? "s" : mean >= 1e6 ? "ms" : mean >= 1e3 ? "us" : "ns";
    double scale = mean >= 1e9 ? 1e9 : mean >= 1e6 ? 1e6 : mean >= 1e3 ? 1e3 : 1;
    printf("  %-10s %.4g %s\n", what, mean / scale, unit);
}

static void print_indented(const char *text)
{
    while (*text) {
        int n = (int)strcspn(text, "\n");
        printf("  | %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
}

void eval_print(const json_t *result, const struct eval_request *r)
{
    const json_t *record = json_object_get(result, "record");
    const char *outcome = json_string_value(json_object_get(record, "outcome"));
    const char *detail = json_string_value(json_object_get(record, "detail"));
    const char *reason = json_string_value(json_object_get(result, "reason"));
    double speedup = json_number_value(json_object_get(record, "speedup"));
    int64_t rank = json_is_object(record) ? json_integer_value(json_object_get(record, "rank")) : -1;
    printf("%s, %d GPUs, %s, %s, %s: %s", r->of->name, r->gpus, r->shape, r->dtype, r->device, outcome ? outcome : "no result");
    if (rank >= 0)
        printf(" (rank %" PRId64 ")", rank);
    printf("\n");
    if ((detail && detail[0]) || (!outcome && reason))
        printf("  %s\n", detail && detail[0] ? detail : reason);
    print_time("reference", record, "baseline");
    print_time("candidate", record, "time");
    if (speedup > 0)
        printf("  %-10s %.3g\n", "speedup", speedup);
    if (!outcome || outcome_parse(outcome) != OUTCOME_CORRECT)
        print_indented(json_string_value(json_object_get(result, "log")));
    if (json_is_string(json_object_get(result, "run")))
        printf("  run directory: %s\n", json_string_value(json_object_get(result, "run")));
}
