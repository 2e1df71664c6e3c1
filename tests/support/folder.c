/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/folder.h"

#include <stdlib.h>
#include <string.h>

#include "util/file.h"

char test_folder[] = "/tmp/pkb-test-XXXXXX";

int test_folder_make(void **state)
{
    (void)state;
    memset(test_folder + sizeof(test_folder) - 7, 'X', 6);
    return mkdtemp(test_folder) ? 0 : -1;
}

int test_folder_remove(void **state)
{
    (void)state;
    return pkb_remove_tree(test_folder, NULL);
}
