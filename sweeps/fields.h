/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of a sweep's fields: each takes the field's value (NULL where the sweep does not give it), checks it and fills its part of
 * the sweep. What they allocate belongs to the sweep at once.
 */
#ifndef PKB_SWEEPS_FIELDS_H
#define PKB_SWEEPS_FIELDS_H

#include <jansson.h>

#include "sweeps/sweep.h"

struct sweep_reader {
    struct sweep *sweep;
    const char *entry;  /* text within the value that is being looked at, for the line of an error; NULL: the field */
    const char *folder; /* of the sweep file */
    char **models;      /* folders of the candidate store, sorted */
    size_t n_models;
};

typedef int sweep_field_fn(struct sweep_reader *r, const json_t *value, struct pkb_error *err);

/* fields.c */
sweep_field_fn sweep_read_name, sweep_read_device, sweep_read_trials, sweep_read_seed, sweep_read_inputs, sweep_read_tolerance,
    sweep_read_iterations, sweep_read_limits, sweep_read_function, sweep_read_slurm;

/* fields_lists.c */
sweep_field_fn sweep_read_candidates, sweep_read_problems, sweep_read_models, sweep_read_samples, sweep_read_gpus,
    sweep_read_dtypes;

/* fields_shapes.c, after problems */
sweep_field_fn sweep_read_shapes;

/* Frees what the reader, not the sweep, owns. */
void sweep_reader_clear(struct sweep_reader *r);

/* ---- helpers (value_read.c) ---------------------------------------------------------------------------------------- */

/* "a number", "a list", ...: what a value is, for messages. */
const char *sweep_describe(const json_t *value);

/* A name that may be part of file names: letters, digits, '.', '_', '-', not first '.' or '-', at most `size` bytes. */
int sweep_file_name(const char *text, size_t size, struct pkb_error *err);

/* strdup into *out, freeing what was there. */
int sweep_keep(char **out, const char *text, struct pkb_error *err);

/* An integer in a range; a fraction, or another type, is an error. */
int sweep_integer(const json_t *value, int64_t min, int64_t max, int64_t *out, struct pkb_error *err);

/* A finite number in a range. */
int sweep_real(const json_t *value, double min, double max, double *out, struct pkb_error *err);

/* A text that is not empty. Borrowed. */
int sweep_text(const json_t *value, const char **out, struct pkb_error *err);

/* The index of a text among n words; "expected \"a\" or \"b\", found ..." otherwise, with a suggestion. */
int sweep_word(const json_t *value, const char *const *words, size_t n, int *index, struct pkb_error *err);

/* A table with names, all of which are among n words (the value {} is one too). */
int sweep_keys(const json_t *value, const char *const *words, size_t n, struct pkb_error *err);

/* pkb_error_set with "; did you mean "X"?" behind the text where a word is near. */
int sweep_unknown(const char *word, const char *const *words, size_t n, struct pkb_error *err, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Calls `each` for the entries of a list, or for the value itself when it is no list. Lists within lists (the result of family "x")
 * are flattened, 2 levels deep. The entry number goes in front of errors. */
typedef int sweep_each_fn(struct sweep_reader *r, const json_t *entry, struct pkb_error *err);
int sweep_each(struct sweep_reader *r, const json_t *value, sweep_each_fn *each, struct pkb_error *err);

#endif
