/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep file can call: an allow-list of Lua's functions, and sweep, problems, family, models, machine. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "sweeps/lua_state.h"
#include "sweeps/machine.h"
#include "sweeps/pattern.h"
#include "util/suggest.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- functions whose work in C is charged -------------------------------------------------------------------------- */

/* The function itself is upvalue 1. */
static int forward(lua_State *L)
{
    int n = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

static int guard_pattern(lua_State *L)
{
    size_t subject = 0, size = 0;
    if (lua_isstring(L, 1) && lua_isstring(L, 2)) { /* numbers too, as the functions take them */
        (void)lua_tolstring(L, 1, &subject);
        const char *pattern = lua_tolstring(L, 2, &size);
        sweep_lua_charge(L, 1, sweep_pattern_work(pattern, size, subject));
    }
    return forward(L);
}

/* rep: no copies of a byte are as many as asked for, and cost time but no memory. */
static int guard_rep(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 2);
    if (n > 0)
        sweep_lua_charge(L, 1, (double)n / 16);
    return forward(L);
}

static int guard_concat(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TTABLE) {
        double first = (double)luaL_optinteger(L, 3, 1);
        double last = (double)luaL_optinteger(L, 4, (lua_Integer)lua_rawlen(L, 1));
        if (last > first)
            sweep_lua_charge(L, 1, (last - first) / 4);
    }
    return forward(L);
}

/* unpack; insert and remove, where they move what follows. */
static int guard_list(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TTABLE)
        sweep_lua_charge(L, 1, (double)lua_rawlen(L, 1));
    return forward(L);
}

static int guard_insert(lua_State *L)
{
    return lua_gettop(L) > 2 ? guard_list(L) : forward(L);
}

static int guard_remove(lua_State *L)
{
    return lua_gettop(L) > 1 ? guard_list(L) : forward(L);
}

static int guard_sort(lua_State *L)
{
    double work = 0;
    if (lua_type(L, 1) == LUA_TTABLE) {
        double n = (double)lua_rawlen(L, 1);
        for (double m = n; m >= 1; m /= 2)
            work += 2 * n;
    }
    sweep_lua_charge(L, 1, work);
    return forward(L);
}

/* ---- the allow-list ------------------------------------------------------------------------------------------------ */

struct entry {
    const char *name;
    lua_CFunction guard; /* NULL: as it is */
};

static const struct entry base_entries[] = {{"assert", NULL}, {"error", NULL},    {"ipairs", NULL},   {"next", NULL},
                                            {"pairs", NULL},  {"rawequal", NULL}, {"rawlen", NULL},   {"select", NULL},
                                            {"type", NULL},   {"tonumber", NULL}, {"tostring", NULL}, {NULL, NULL}};

static const struct entry string_entries[] = {{"byte", NULL},
                                              {"char", NULL},
                                              {"find", guard_pattern},
                                              {"format", NULL},
                                              {"gmatch", guard_pattern},
                                              {"gsub", guard_pattern},
                                              {"len", NULL},
                                              {"lower", NULL},
                                              {"match", guard_pattern},
                                              {"rep", guard_rep},
                                              {"reverse", NULL},
                                              {"sub", NULL},
                                              {"upper", NULL},
                                              {NULL, NULL}};

/* No move: it can count to 2^63 without an instruction. */
static const struct entry table_entries[] = {
    {"concat", guard_concat}, {"insert", guard_insert}, {"pack", NULL}, {"remove", guard_remove},
    {"sort", guard_sort},     {"unpack", guard_list},   {NULL, NULL}};

/* No random: a sweep must mean the same cells every time. */
static const struct entry math_entries[] = {
    {"abs", NULL}, {"ceil", NULL}, {"cos", NULL},        {"exp", NULL},  {"floor", NULL},      {"fmod", NULL}, {"huge", NULL},
    {"log", NULL}, {"max", NULL},  {"maxinteger", NULL}, {"min", NULL},  {"mininteger", NULL}, {"modf", NULL}, {"pi", NULL},
    {"sin", NULL}, {"sqrt", NULL}, {"tointeger", NULL},  {"type", NULL}, {"ult", NULL},        {NULL, NULL}};

static const struct entry utf8_entries[] = {{"char", NULL}, {"charpattern", NULL}, {"codepoint", NULL}, {"codes", NULL},
                                            {"len", NULL},  {"offset", NULL},      {NULL, NULL}};

/* Copies the entries from the table at `from` to the one at `to`. */
static void copy_entries(lua_State *L, const struct entry *entries, int from, int to)
{
    for (const struct entry *e = entries; e->name; e++) {
        if (lua_getfield(L, from, e->name) == LUA_TNIL)
            luaL_error(L, "Lua has no %s", e->name);
        if (e->guard)
            lua_pushcclosure(L, e->guard, 1);
        lua_setfield(L, to, e->name);
    }
}

/* Opens a library and sets globals[name] to its allowed part, which stays on the stack. */
static void open_part(lua_State *L, int globals, const char *name, lua_CFunction open, const struct entry *entries)
{
    lua_pushcfunction(L, open);
    lua_pushstring(L, name);
    lua_call(L, 1, 1);
    lua_newtable(L);
    copy_entries(L, entries, lua_gettop(L) - 1, lua_gettop(L));
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, globals, name);
}

/* ("x"):f() must not reach more than string.f. */
static void restrict_string_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    if (!lua_getmetatable(L, -1))
        luaL_error(L, "%s", "strings have no metatable");
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}

/* ---- sweep, problems, family, models ------------------------------------------------------------------------------- */

static int call_sweep(lua_State *L)
{
    struct sweep_lua *lua = sweep_lua_of(L);
    lua_Debug ar;
    if (lua->line > 0)
        return luaL_error(L, "sweep was already called in line %d; a file holds one sweep", lua->line);
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TTABLE)
        return luaL_error(L, "%s", "sweep expects one table: sweep { ... }");
    lua->line = lua_getstack(L, 1, &ar) && lua_getinfo(L, "l", &ar) && ar.currentline > 0 ? ar.currentline : 1;
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &sweep_table_key);
    return 1;
}

/* Appends the names of a family's problems (NULL: of all) to the table on top. */
static int append_problems(lua_State *L, const char *family)
{
    int n = 0;
    for (const struct problem *const *p = problem_registry; *p; p++) {
        if (family && strcmp((*p)->family, family) != 0)
            continue;
        lua_pushstring(L, (*p)->name);
        lua_rawseti(L, -2, ++n);
    }
    return n;
}

static int call_family(lua_State *L)
{
    const char *names[512];
    size_t n = 0;
    if (lua_gettop(L) != 1 || lua_type(L, 1) != LUA_TSTRING)
        return luaL_error(L, "%s", "family expects a name: family \"tensor_parallel\"");
    const char *family = lua_tostring(L, 1);
    lua_newtable(L);
    if (append_problems(L, family) > 0)
        return 1;
    for (const struct problem *const *p = problem_registry; *p && n < COUNT(names); p++)
        names[n++] = (*p)->family;
    const char *near = pkb_suggest(family, names, n);
    if (near)
        return luaL_error(L, "there is no family \"%s\"; did you mean \"%s\"?", family, near);
    return luaL_error(L, "there is no family \"%s\"; 'pkb problems' lists them", family);
}

static void open_sweep(lua_State *L, int globals)
{
    lua_pushcfunction(L, call_sweep);
    lua_setfield(L, globals, "sweep");
    lua_pushcfunction(L, call_family);
    lua_setfield(L, globals, "family");
    lua_newtable(L);
    lua_newtable(L);
    (void)append_problems(L, NULL);
    lua_setfield(L, -2, "all");
    lua_pushcfunction(L, call_family);
    lua_setfield(L, -2, "family");
    lua_setfield(L, globals, "problems");
    lua_newtable(L);
    lua_pushliteral(L, "*"); /* the store is known only after the file has run */
    lua_setfield(L, -2, "all");
    lua_setfield(L, globals, "models");
}

static void open_machine(lua_State *L, int globals)
{
    struct sweep_machine m;
    struct pkb_error err;
    if (sweep_machine_read(&m, &err) < 0)
        luaL_error(L, "%s", err.text);
    lua_newtable(L);
    lua_pushstring(L, m.device);
    lua_setfield(L, -2, "device");
    lua_pushinteger(L, m.gpus);
    lua_setfield(L, -2, "gpus");
    lua_pushinteger(L, m.ranks);
    lua_setfield(L, -2, "ranks");
    lua_setfield(L, globals, "machine");
}

void sweep_library_open(lua_State *L)
{
    lua_newtable(L);
    int globals = lua_gettop(L);
    lua_pushcfunction(L, luaopen_base);
    lua_call(L, 0, 1);
    copy_entries(L, base_entries, lua_gettop(L), globals);
    open_part(L, globals, "string", luaopen_string, string_entries);
    restrict_string_methods(L);
    open_part(L, globals, "table", luaopen_table, table_entries);
    open_part(L, globals, "math", luaopen_math, math_entries);
    open_part(L, globals, "utf8", luaopen_utf8, utf8_entries);
    open_sweep(L, globals);
    open_machine(L, globals);
    lua_settop(L, globals);
    lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}

/* ---- hints --------------------------------------------------------------------------------------------------------- */

/* Names that a Lua programmer may expect. */
static const char *const absent[] = {"io",           "os",           "debug",   "package", "require",   "load",
                                     "loadstring",   "loadfile",     "dofile",  "print",   "pcall",     "xpcall",
                                     "setmetatable", "getmetatable", "rawget",  "rawset",  "coroutine", "collectgarbage",
                                     "warn",         "_G",           "_VERSION"};

static const char *const present[] = {"assert", "error", "ipairs",   "next",     "pairs",  "rawequal", "rawlen",
                                      "select", "type",  "tonumber", "tostring", "string", "table",    "math",
                                      "utf8",   "sweep", "family",   "problems", "models", "machine"};

void sweep_library_hint(const char *message, char *hint, size_t size)
{
    char name[64];
    hint[0] = '\0';
    const char *at = strstr(message, "(global '");
    if (!at || sscanf(at, "(global '%63[^']')", name) != 1)
        return;
    for (size_t i = 0; i < COUNT(absent); i++) {
        if (strcmp(name, absent[i]) == 0) {
            (void)snprintf(hint, size, "; sweep files have no '%s'", name);
            return;
        }
    }
    const char *near = pkb_suggest(name, present, COUNT(present));
    if (near && strcmp(near, name) != 0)
        (void)snprintf(hint, size, "; did you mean '%s'?", near);
}
