/* SPDX-License-Identifier: Apache-2.0 */
/* A problem for people and for programs. */
#ifndef PKB_ORCHESTRATOR_PROBLEM_TEXT_H
#define PKB_ORCHESTRATOR_PROBLEM_TEXT_H

#include <jansson.h>

#include "problems/problem.h"

/* problem_by_name, with an error that suggests what may have been meant. */
const struct problem *problem_find(const char *name, struct pkb_error *err);

/* {"id", "name", "family", "origin", "summary", "worlds"}; NULL when memory runs out. */
json_t *problem_text_brief(const struct problem *p);

/* Everything about a problem at a world size, on standard output: parameters, the tensors, cost and checks of rank 0 for the paper's and
 * the tiny values, what is said in headers (problem_notes.h), and the source of the reference. 0, or -1 when a file cannot be read or memory
 * runs out. */
int problem_text_show(const struct problem *p, int world, struct pkb_error *err);
int problem_text_show_json(const struct problem *p, int world, struct pkb_error *err);

#endif
