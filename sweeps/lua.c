/* SPDX-License-Identifier: Apache-2.0 */
#include "sweeps/lua.h"

#include <errno.h>
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sweeps/lua_state.h"
#include "sweeps/source.h"

/* The hook charges this many instructions at once. */
#define HOOK_STEP 1000

/* Chunk name of the file; its messages begin with it and the line. */
#define CHUNK "sweep"

const char sweep_table_key = 't';
const char sweep_function_keys[SWEEP_FUNCTIONS] = {'w', 's'};
const char sweep_cell_key = 'c';

static const char *const function_names[SWEEP_FUNCTIONS] = {"where", "time"};

struct sweep_lua *sweep_lua_of(lua_State *L)
{
    void *lua = NULL;
    (void)lua_getallocf(L, &lua);
    return lua;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* For a new block Lua passes its kind as old_size. */
static void *allocate(void *ud, void *block, size_t old_size, size_t size)
{
    struct sweep_lua *lua = ud;
    size_t had = block ? old_size : 0;
    if (size == 0) {
        free(block);
        lua->memory -= had;
        return NULL;
    }
    if (!block && old_size == LUA_TSTRING && size > SWEEP_STRING + 64) {
        lua->refused = LIMIT_STRING;
        return NULL;
    }
    if (size > had && (size > SWEEP_MEMORY || lua->memory - had > SWEEP_MEMORY - size)) {
        lua->refused = LIMIT_MEMORY;
        return NULL;
    }
    void *p = realloc(block, size);
    if (p)
        lua->memory = lua->memory - had + size;
    return p;
}

static const char *memory_message(const struct sweep_lua *lua)
{
    if (lua->refused == LIMIT_STRING)
        return "stopped: a string would be longer than 1 MiB";
    if (lua->refused == LIMIT_MEMORY)
        return "stopped: it needs more than 256 MiB of memory";
    return "out of memory";
}

/* ---- work ---------------------------------------------------------------------------------------------------------- */

static int64_t cpu_now(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) < 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void stop(lua_State *L, int level, const char *what)
{
    lua_Debug ar;
    if (lua_getstack(L, level, &ar) && lua_getinfo(L, "Sl", &ar) && ar.currentline > 0)
        (void)lua_pushfstring(L, "%s:%d: stopped after %s", ar.short_src, ar.currentline, what);
    else
        (void)lua_pushfstring(L, "stopped after %s", what);
    (void)lua_error(L);
}

void sweep_lua_charge(lua_State *L, int level, double instructions)
{
    struct sweep_lua *lua = sweep_lua_of(L);
    char what[64];
    if (!(instructions <= (double)lua->left)) {
        (void)snprintf(what, sizeof(what), "%lld instructions", (long long)lua->budget);
        stop(L, level, what);
    }
    lua->left -= (int64_t)instructions;
}

/* Instructions differ in cost (comparing two long strings is one), hence the processor time as well. It is first read here, so
 * that short calls need no clock. */
static void count_hook(lua_State *L, lua_Debug *ar)
{
    struct sweep_lua *lua = sweep_lua_of(L);
    (void)ar;
    sweep_lua_charge(L, 0, HOOK_STEP);
    int64_t now = cpu_now();
    if (lua->cpu_start < 0)
        lua->cpu_start = now;
    if (now - lua->cpu_start > lua->cpu_limit) {
        char what[64];
        (void)snprintf(what, sizeof(what), "%lld s of processor time", (long long)(lua->cpu_limit / 1000000000));
        stop(L, 0, what);
    }
}

void sweep_lua_begin(struct sweep_lua *lua, int64_t instructions, int64_t cpu_ns)
{
    lua->budget = instructions;
    lua->left = instructions;
    lua->cpu_limit = cpu_ns;
    lua->cpu_start = -1;
    lua->refused = LIMIT_NONE;
    lua_sethook(lua->L, count_hook, LUA_MASKCOUNT, HOOK_STEP);
}

/* ---- errors -------------------------------------------------------------------------------------------------------- */

/* "sweep:4: text" becomes "line 4: text". */
static void set_message(const char *text, struct pkb_error *err)
{
    char hint[160];
    int line = 0, n = 0;
    sweep_library_hint(text, hint, sizeof(hint));
    if (sscanf(text, CHUNK ":%9d: %n", &line, &n) == 1 && n > 0)
        pkb_error_set(err, "line %d: %s%s", line, text + n, hint);
    else
        pkb_error_set(err, "%s%s", text, hint);
}

int sweep_lua_protected(struct sweep_lua *lua, int nargs, int nresults, struct pkb_error *err)
{
    lua_State *L = lua->L;
    int status = lua_pcall(L, nargs, nresults, 0);
    if (status == LUA_OK)
        return 0;
    if (status == LUA_ERRMEM)
        pkb_error_set(err, "%s", memory_message(lua));
    else if (lua_type(L, -1) == LUA_TSTRING)
        set_message(lua_tostring(L, -1), err);
    else
        pkb_error_set(err, "an error was raised with a %s instead of a text", lua_typename(L, lua_type(L, -1)));
    lua_pop(L, 1);
    return -1;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

static int open_library(lua_State *L)
{
    sweep_library_open(L);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sweep_cell_key);
    return 0;
}

void sweep_lua_destroy(struct sweep_lua *lua)
{
    int saved = errno;
    if (lua) {
        if (lua->L)
            lua_close(lua->L);
        free(lua);
    }
    errno = saved;
}

struct sweep_lua *sweep_lua_create(struct pkb_error *err)
{
    struct sweep_lua *lua = calloc(1, sizeof(*lua));
    if (!lua) {
        pkb_error_errno(err, "Lua");
        return NULL;
    }
    lua->L = lua_newstate(allocate, lua);
    if (!lua->L) {
        pkb_error_set(err, "Lua: out of memory");
        sweep_lua_destroy(lua);
        return NULL;
    }
    sweep_lua_begin(lua, SWEEP_FILE_INSTRUCTIONS, SWEEP_FILE_CPU_NS);
    lua_pushcfunction(lua->L, open_library);
    if (sweep_lua_protected(lua, 0, 0, err) < 0) {
        sweep_lua_destroy(lua);
        return NULL;
    }
    return lua;
}

int sweep_lua_line(const struct sweep_lua *lua)
{
    return lua->line;
}

bool sweep_lua_has(const struct sweep_lua *lua, enum sweep_function function)
{
    return lua->has[function];
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

struct chunk {
    const char *text;
    size_t size;
};

/* Runs the file and leaves the sweep's table; puts its functions aside. */
static int run_chunk(lua_State *L)
{
    struct sweep_lua *lua = sweep_lua_of(L);
    const struct chunk *c = lua_touserdata(L, 1);
    if (luaL_loadbufferx(L, c->text, c->size, "=" CHUNK, "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sweep_table_key);
    if (lua->line == 0)
        return luaL_error(L, "%s", "the file must return sweep { ... }");
    if (!lua_rawequal(L, -1, -2))
        return luaL_error(L, "%s", "the file must return what sweep { ... } returned; is 'return' missing in front of it?");
    for (int i = 0; i < SWEEP_FUNCTIONS; i++) {
        lua_pushstring(L, function_names[i]);
        lua->has[i] = lua_rawget(L, -2) == LUA_TFUNCTION;
        lua_rawsetp(L, LUA_REGISTRYINDEX, &sweep_function_keys[i]);
    }
    return 1;
}

int sweep_lua_run(struct sweep_lua *lua, const char *text, size_t size, json_t **fields, struct pkb_error *err)
{
    struct chunk c = {text, size};
    *fields = NULL;
    if (size > SWEEP_STRING)
        return pkb_error_set(err, "%zu bytes, more than the limit of 1 MiB", size);
    sweep_lua_begin(lua, SWEEP_FILE_INSTRUCTIONS, SWEEP_FILE_CPU_NS);
    lua_pushcfunction(lua->L, run_chunk);
    lua_pushlightuserdata(lua->L, &c);
    if (sweep_lua_protected(lua, 1, 1, err) < 0)
        return -1;
    char field[64];
    *fields = sweep_value(lua->L, field, err);
    lua_pop(lua->L, 1);
    if (*fields)
        return 0;
    return pkb_error_prefix(err, "line %d", sweep_source_line(text, size, lua->line, field, NULL));
}
