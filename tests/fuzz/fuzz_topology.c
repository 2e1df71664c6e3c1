/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of machines from anybody; what is accepted must be printed and read back. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "topology/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct topology t, again;
    struct pkb_error err;
    char *text = NULL;
    size_t length = 0;
    if (topology_parse((const char *)data, size, &t, &err) < 0)
        return 0;
    FILE *out = open_memstream(&text, &length);
    if (!out || topology_print(&t, out) < 0 || fclose(out) != 0)
        abort();
    if (topology_parse(text, length, &again, &err) < 0) {
        (void)fprintf(stderr, "%s\n%s\n", err.text, text);
        abort();
    }
    free(text);
    return 0;
}
