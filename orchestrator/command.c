/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/command.h"

#include <jansson.h>
#include <stdio.h>

int command_fail(enum pkb_exit code, const struct pkb_error *err)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "pkb: %s\n", err->text);
    return (int)code;
}

int command_print_json(const struct json_t *value, int pretty, struct pkb_error *err)
{
    size_t flags = JSON_ENCODE_ANY | (pretty ? JSON_INDENT(2) : JSON_COMPACT);
    if (json_dumpf(value, stdout, flags) < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
        return pkb_error_errno(err, "cannot write to standard output");
    return 0;
}
