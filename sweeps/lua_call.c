/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a sweep's functions. */
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "sweeps/lua_state.h"

struct call {
    const struct sweep_cell *cell;
    enum sweep_function function;
    double value;
};

static void set_string(lua_State *L, const char *key, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, key);
}

static void set_integer(lua_State *L, const char *key, int value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, key);
}

/* One table serves all calls, written anew each time: a table per call would double the cost of planning. */
static void fill_cell(lua_State *L, const struct sweep_cell *cell)
{
    set_string(L, "problem", cell->problem->name);
    set_integer(L, "id", cell->problem->id);
    set_string(L, "family", cell->problem->family);
    set_string(L, "model", cell->model);
    set_integer(L, "sample", cell->sample);
    set_integer(L, "world", cell->world);
    set_string(L, "dtype", dtype_name(cell->dtype));
    set_string(L, "shape", cell->shape);
    set_string(L, "device", cell->device);
}

static int take_where(lua_State *L, struct call *c)
{
    if (lua_type(L, -1) == LUA_TBOOLEAN) {
        c->value = lua_toboolean(L, -1);
        return 0;
    }
    const char *hint = lua_isnil(L, -1) ? "; is 'return' missing?" : "";
    return luaL_error(L, "expected true or false, found %s%s", luaL_typename(L, -1), hint);
}

static int take_time(lua_State *L, struct call *c)
{
    if (lua_type(L, -1) != LUA_TNUMBER)
        return luaL_error(L, "expected a number of seconds, found %s", luaL_typename(L, -1));
    c->value = lua_tonumber(L, -1);
    if (!(c->value >= 0 && c->value <= 1e9))
        return luaL_error(L, "%s", "expected seconds from 0 to 1e9");
    return 0;
}

static int call_protected(lua_State *L)
{
    struct call *c = lua_touserdata(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sweep_function_keys[c->function]);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &sweep_cell_key);
    fill_cell(L, c->cell);
    lua_call(L, 1, 1);
    return c->function == SWEEP_WHERE ? take_where(L, c) : take_time(L, c);
}

int sweep_lua_call(struct sweep_lua *lua, enum sweep_function function, const struct sweep_cell *cell, double *value,
                   struct pkb_error *err)
{
    struct call c = {.cell = cell, .function = function};
    sweep_lua_begin(lua, SWEEP_CALL_INSTRUCTIONS, SWEEP_CALL_CPU_NS);
    lua_pushcfunction(lua->L, call_protected);
    lua_pushlightuserdata(lua->L, &c);
    if (sweep_lua_protected(lua, 1, 0, err) < 0)
        return -1;
    *value = c.value;
    return 0;
}
