/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the sandbox, shared by sweeps/lua*.c. */
#ifndef PKB_SWEEPS_LUA_STATE_H
#define PKB_SWEEPS_LUA_STATE_H

#include <lua.h>

#include "sweeps/lua.h"

enum sweep_limit { LIMIT_NONE, LIMIT_MEMORY, LIMIT_STRING };

struct sweep_lua {
    lua_State *L;
    size_t memory;             /* bytes in use */
    enum sweep_limit refused;  /* why the allocator last said no */
    int64_t budget, left;      /* instructions of the present run */
    int64_t cpu_limit;         /* ns */
    int64_t cpu_start;         /* processor time when the run was first looked at; -1: not yet */
    int line;                  /* of the call of sweep; 0: not called */
    bool has[SWEEP_FUNCTIONS]; /* functions that the sweep holds */
};

/* Where the state keeps what C needs, in its registry. */
extern const char sweep_table_key;                      /* the table given to sweep */
extern const char sweep_function_keys[SWEEP_FUNCTIONS]; /* its functions */
extern const char sweep_cell_key;                       /* the table that they are called with */

/* The sandbox of a state. */
struct sweep_lua *sweep_lua_of(lua_State *L);

/* Replaces the globals by the allow-list. Raises Lua errors: call it protected. */
void sweep_library_open(lua_State *L);

/* "; sweep files have no 'io'", or a suggestion, for Lua's message about an unknown global; "" otherwise. */
void sweep_library_hint(const char *message, char *hint, size_t size);

/* Charges work done in C as instructions; raises an error when the budget is spent. `level` is the stack level of the code to blame. */
void sweep_lua_charge(lua_State *L, int level, double instructions);

/* A new budget, and the hook that charges it. */
void sweep_lua_begin(struct sweep_lua *lua, int64_t instructions, int64_t cpu_ns);

/* lua_pcall of the function below nargs arguments; on failure pops the error object into err. 0 or -1. */
int sweep_lua_protected(struct sweep_lua *lua, int nargs, int nresults, struct pkb_error *err);

/* The table on top of the stack (left there) as JSON. Raises no Lua errors. NULL with the error set, and in `field` the name of the
 * field it is about ("" where there is none). */
json_t *sweep_value(lua_State *L, char field[64], struct pkb_error *err);

#endif
