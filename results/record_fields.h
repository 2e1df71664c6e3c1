/* SPDX-License-Identifier: Apache-2.0 */
/* The members of records as tables for results/fields.h, and what must hold between them. */
#ifndef PKB_RESULTS_RECORD_FIELDS_H
#define PKB_RESULTS_RECORD_FIELDS_H

#include "results/fields.h"
#include "results/record.h"

/* Schema version and kind of an object. -1: missing or malformed, -2: unknown ones; with the reason. */
int record_read_kind(const struct value *object, value_members_fn *members, enum record_kind *kind, struct pkb_error *err);

/* Zeroes and fills a record, and checks it. On failure nothing is to be freed. */
int record_read_cell(const struct value *object, value_members_fn *members, struct record *r, struct pkb_error *err);
int record_read_baseline(const struct value *object, value_members_fn *members, struct record_baseline *b, struct pkb_error *err);

#endif
