/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox that sweep files run in: a Lua state with an allow-list of functions and hard limits.
 *
 * Nothing in it can reach a file, a clock, the environment or bytecode, and nothing can outlast the limits: there is no pcall, no
 * coroutine and no metatable with which a chunk could catch the error that a limit raises. Library functions whose work is not
 * proportional to the instructions that call them (patterns, sort) are charged for it in instructions.
 *
 * Errors read "line 4: ..." where a line is known.
 */
#ifndef PKB_SWEEPS_LUA_H
#define PKB_SWEEPS_LUA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sweeps/sweep.h"
#include "util/error.h"

#define SWEEP_MEMORY ((size_t)256 << 20)  /* bytes of a state */
#define SWEEP_STRING ((size_t)1 << 20)    /* bytes of a string, and of a sweep file */
#define SWEEP_FILE_INSTRUCTIONS 100000000 /* of the file */
#define SWEEP_CALL_INSTRUCTIONS 100000    /* of one call of a function */
#define SWEEP_FILE_CPU_NS 10000000000     /* processor time of the file */
#define SWEEP_CALL_CPU_NS 1000000000      /* processor time of one call of a function */
#define SWEEP_VALUES 200000               /* values in the table that a file returns */

/* The functions that a sweep may hold. */
enum sweep_function { SWEEP_WHERE, SWEEP_TIME, SWEEP_FUNCTIONS };

struct sweep_lua;

struct sweep_lua *sweep_lua_create(struct pkb_error *err);
void sweep_lua_destroy(struct sweep_lua *lua);

/* Runs a file's text (never bytecode), which must return sweep { ... } once. *fields is its table as JSON: a sequence is an array (an
 * empty table too), everything else an object; the functions are null in it and kept for sweep_lua_call. The caller decrefs. */
int sweep_lua_run(struct sweep_lua *lua, const char *text, size_t size, json_t **fields, struct pkb_error *err);

/* Line of the call of sweep. */
int sweep_lua_line(const struct sweep_lua *lua);

bool sweep_lua_has(const struct sweep_lua *lua, enum sweep_function function);

/* Calls a function of the sweep for a cell. `where` must return a boolean (*value is 0 or 1), `time` seconds from 0 to 1e9. */
int sweep_lua_call(struct sweep_lua *lua, enum sweep_function function, const struct sweep_cell *cell, double *value,
                   struct pkb_error *err);

#endif
