/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a topology file, as a table that reading and writing share. */
#ifndef PKB_TOPOLOGY_SCHEMA_H
#define PKB_TOPOLOGY_SCHEMA_H

#include "topology/topology.h"

enum entry_kind {
    ENTRY_TEXT,  /* char[size]: not empty, no control characters */
    ENTRY_NAME,  /* char[size]: letters, digits, '-', '_' and '.' */
    ENTRY_INT,   /* int in min..max */
    ENTRY_REAL,  /* double in min..max */
    ENTRY_BOOL,  /* true or false */
    ENTRY_WORD,  /* int: index in words */
    ENTRY_MAP,   /* a structure with a table of its own */
    ENTRY_TEXTS, /* list of char[TOPOLOGY_TEXT] */
    ENTRY_MAPS,  /* list of structures with a table */
};

struct entry_table;

struct entry {
    const char *key;
    enum entry_kind kind;
    bool required;
    size_t offset; /* in the structure */
    size_t size;   /* of a text; of one structure of a list */
    double min, max;
    const char *const *words; /* NULL-terminated */
    const struct entry_table *table;
    size_t count; /* of lists: offset of the int that counts; at most `max` items */
};

struct entry_table {
    const struct entry *entries;
    size_t n;
};

extern const struct entry_table topology_table, topology_device_table, topology_peaks_table, topology_link_table;

/* The entry of a key, or NULL. */
const struct entry *schema_entry(const struct entry_table *table, const char *key);

/* What no single key says: that the figures fit together. */
int topology_check(const struct topology *t, struct pkb_error *err);

#endif
