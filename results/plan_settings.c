/* SPDX-License-Identifier: Apache-2.0 */
#include "results/plan_settings.h"

#include <stdlib.h>
#include <string.h>

#include "results/scan.h"
#include "util/file.h"
#include "util/json.h"

struct found {
    bool known_format;
    struct value settings; /* as text */
};

static int visit(void *arg, const char *key, size_t length, const struct value *v, struct pkb_error *err)
{
    struct found *f = arg;
    (void)err;
    if (length == strlen("format") && memcmp(key, "format", length) == 0)
        f->known_format = v->kind == VALUE_INTEGER && v->integer == 1;
    if (length == strlen("settings") && memcmp(key, "settings", length) == 0)
        f->settings = *v;
    return 0;
}

static int decode(const json_t *list, struct plan *p, struct pkb_error *err)
{
    p->settings = calloc(json_array_size(list) + 1, sizeof(*p->settings));
    if (!p->settings)
        return pkb_error_set(err, "out of memory");
    for (size_t i = 0; i < json_array_size(list); i++, p->n_settings++)
        if (plan_setting_decode(json_array_get(list, i), &p->settings[i], err) < 0)
            return pkb_error_prefix(err, "settings: entry %zu", i + 1);
    return 0;
}

static int read_text(const char *text, size_t size, struct plan *p, struct pkb_error *err)
{
    struct found f = {.known_format = false};
    struct value object;
    if (scan_object(text, size, &object, err) < 0 || scan_members(&object, visit, &f, err) < 0)
        return -1;
    if (!f.known_format || f.settings.kind != VALUE_ARRAY)
        return pkb_error_set(err, "no list of settings in format 1");
    json_t *list = pkb_json_parse(f.settings.text, f.settings.size, err);
    int rc = list ? decode(list, p, err) : -1;
    json_decref(list);
    return rc;
}

struct plan *plan_settings_load(const char *run, struct pkb_error *err)
{
    char *text = NULL, *path = pkb_format(err, "%s/plan/plan.json", run);
    size_t size = 0;
    struct plan *p = calloc(1, sizeof(*p));
    int rc = p ? 0 : pkb_error_set(err, "out of memory");
    if (rc == 0)
        rc = path ? pkb_file_read(path, 0, &text, &size, err) : -1;
    if (rc == 0 && read_text(text, size, p, err) < 0)
        rc = pkb_error_prefix(err, "%s", path);
    free(text);
    free(path);
    if (rc == 0)
        return p;
    plan_destroy(p);
    return NULL;
}
