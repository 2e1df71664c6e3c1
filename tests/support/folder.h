/* SPDX-License-Identifier: Apache-2.0 */
/* A folder for the files of a cmocka test: fixtures of a test or of a group. */
#ifndef PKB_TESTS_SUPPORT_FOLDER_H
#define PKB_TESTS_SUPPORT_FOLDER_H

/* Its path, from test_folder_make, which makes another one each time, to test_folder_remove, which removes all that is in it. */
extern char test_folder[];
int test_folder_make(void **state);
int test_folder_remove(void **state);

#endif
