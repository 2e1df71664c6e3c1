/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/eval.h"
#include "orchestrator/problem_text.h"
#include "util/file.h"

#define MAX_SOURCE (16 << 20)
#define MODEL "candidate"

void eval_remove(struct eval_place *place)
{
    int saved = errno;
    if (place->folder[0])
        (void)pkb_remove_tree(place->folder, NULL);
    free(place->sweep);
    free(place->run);
    *place = (struct eval_place){.folder = ""};
    errno = saved;
}

static int check_candidate(const char *path, const char **kind, struct pkb_error *err)
{
    const char *dot = strrchr(path, '.');
    if (!dot || (strcmp(dot, ".c") != 0 && strcmp(dot, ".cu") != 0 && strcmp(dot, ".py") != 0))
        return pkb_error_set(err, "%s: a candidate is a .c, .cu or .py file", path);
    *kind = dot + 1;
    return access(path, R_OK) < 0 ? pkb_error_errno(err, "%s", path) : 0;
}

static int make_folder(struct eval_place *place, struct pkb_error *err)
{
    const char *tmp = getenv("TMPDIR");
    int n = snprintf(place->folder, sizeof(place->folder), "%s/pkb-eval.XXXXXX", tmp && tmp[0] ? tmp : "/tmp");
    if (n < 0 || n >= (int)sizeof(place->folder) || !mkdtemp(place->folder)) {
        pkb_error_errno(err, "%s", place->folder);
        place->folder[0] = '\0';
        return -1;
    }
    return 0;
}

/* FOLDER/store/MODEL/NN_name/1.KIND */
static int copy_candidate(const struct eval_request *r, const char *folder, const char *kind, struct pkb_error *err)
{
    char *data = NULL, *path = NULL;
    size_t size;
    int rc = -1;
    if (pkb_file_read(r->candidate, MAX_SOURCE, &data, &size, err) < 0)
        return -1;
    char *store = pkb_format(err, "%s/store/" MODEL "/%s", folder, r->of->name);
    if (store && pkb_mkdirs(store, err) == 0)
        path = pkb_format(err, "%s/1.%s", store, kind);
    if (path)
        rc = pkb_file_write(path, data, size, err);
    free(path);
    free(store);
    free(data);
    return rc;
}

static char *write_sweep(const struct eval_request *r, const char *folder, struct pkb_error *err)
{
    char *path = pkb_format(err, "%s/eval.lua", folder);
    /* The words come from tables of ours or were checked: none needs quoting. */
    char *text =
        pkb_format(err,
                   "return sweep {\n    name = \"eval\", candidates = \"store\", models = { \"" MODEL "\" }, samples = { 1 },\n"
                   "    problems = { \"%s\" }, gpus = { %d }, dtypes = { \"%s\" }, shapes = { \"%s\" }, device = \"%s\",\n"
                   "    trials = %d, iterations = { warmup = %d, timed = %d },\n"
                   "    limits = { seconds = %.17g, memory_mb = %lld },\n}\n",
                   r->of->name, r->gpus, r->dtype, r->shape, r->device, r->trials, r->warmup, r->iterations, r->limit_seconds,
                   (long long)r->limit_memory_mb);
    if (path && text && pkb_file_write(path, text, strlen(text), err) < 0) {
        free(path);
        path = NULL;
    }
    free(text);
    return text ? path : NULL;
}

int eval_prepare(struct eval_request *r, struct eval_place *place, struct pkb_error *err)
{
    const char *kind = "";
    *place = (struct eval_place){.folder = ""};
    r->of = problem_find(r->problem, err);
    if (!r->of || check_candidate(r->candidate, &kind, err) < 0)
        return PKB_EXIT_USAGE;
    if (make_folder(place, err) < 0 || copy_candidate(r, place->folder, kind, err) < 0)
        return PKB_EXIT_SYSTEM;
    place->sweep = write_sweep(r, place->folder, err);
    place->run = r->keep ? strdup(r->keep) : pkb_format(err, "%s/run", place->folder);
    return place->sweep && place->run ? PKB_EXIT_OK : PKB_EXIT_SYSTEM;
}
