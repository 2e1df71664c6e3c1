/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <jansson.h>
#include <lua.h>
#include <openssl/crypto.h>
#include <pmix.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "build-id.h"
#include "config.h"
#include "orchestrator/command.h"

#define N_ROWS 8

struct row {
    const char *name;
    const char *version;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    bool *json = state->input;
    (void)arg;
    if (key == 'j')
        *json = true;
    else if (key == ARGP_KEY_ARG)
        argp_error(state, "unexpected argument '%s'", arg);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

static void collect(struct row rows[N_ROWS])
{
    const struct row all[N_ROWS] = {
        {"version", PACKAGE_VERSION},     {"build", PKB_BUILD_ID},
        {"compiler", __VERSION__},        {"lua", LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE},
        {"pmix", PMIx_Get_version()},     {"jansson", jansson_version_str()},
        {"sqlite", sqlite3_libversion()}, {"libcrypto", OpenSSL_version(OPENSSL_VERSION)},
    };
    memcpy(rows, all, sizeof(all));
}

static int print_json(const struct row *rows)
{
    struct pkb_error err;
    json_t *v = json_object();
    int rc = v ? 0 : -1;
    for (int i = 0; i < N_ROWS && rc == 0; i++)
        rc = json_object_set_new(v, rows[i].name, json_string(rows[i].version));
    if (rc < 0)
        pkb_error_set(&err, "out of memory");
    else
        rc = command_print_json(v, 0, &err);
    json_decref(v);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, &err) : PKB_EXIT_OK;
}

int cmd_version(int argc, char **argv)
{
    static const struct argp_option options[] = {{"json", 'j', NULL, 0, "Print JSON", 0}, {0}};
    static const struct argp argp = {options, parse, NULL, "Versions of pkb and of the libraries it uses.\v" PKB_EXIT_DOC,
                                     NULL,    NULL,  NULL};
    struct row rows[N_ROWS];
    bool json = false;
    argp_parse(&argp, argc, argv, 0, NULL, &json);
    collect(rows);
    if (json)
        return print_json(rows);
    printf("pkb %s (build %s)\n", rows[0].version, rows[1].version);
    for (int i = 2; i < N_ROWS; i++)
        printf("%-10s %s\n", rows[i].name, rows[i].version);
    return PKB_EXIT_OK;
}
