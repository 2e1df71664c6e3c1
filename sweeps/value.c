/* SPDX-License-Identifier: Apache-2.0 */
/* Lua values as JSON. Everything behind it is plain C: a Lua error is a longjmp, which the readers of fields need not fear.
 * For the same reason only functions of the Lua API that raise no errors are used here. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeps/lua_state.h"

#define MAX_DEPTH 8

struct conversion {
    lua_State *L;
    int values; /* so far */
    int depth;
    char *field; /* of the sweep that cannot be converted, 64 bytes */
    struct pkb_error *err;
};

static json_t *convert(struct conversion *c, bool top);

static json_t *fail(struct conversion *c, const char *text)
{
    pkb_error_set(c->err, "%s", text);
    return NULL;
}

static json_t *convert_number(struct conversion *c)
{
    if (lua_isinteger(c->L, -1))
        return json_integer(lua_tointeger(c->L, -1));
    double value = lua_tonumber(c->L, -1);
    if (!isfinite(value))
        return fail(c, "a number must be finite");
    return json_real(value);
}

static json_t *convert_string(struct conversion *c)
{
    size_t size = 0;
    const char *text = lua_tolstring(c->L, -1, &size);
    if (strlen(text) != size)
        return fail(c, "a text must not hold a 0 byte");
    json_t *value = json_stringn(text, size);
    return value ? value : fail(c, "a text must be UTF-8");
}

/* The number of entries of the table on top; *sequence tells whether its keys are 1, 2, ... */
static lua_Integer look(lua_State *L, bool *sequence, bool *names)
{
    lua_Integer n = 0, integers = 0, largest = 0, strings = 0;
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        n++;
        strings += lua_type(L, -1) == LUA_TSTRING;
        if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) {
            integers++;
            largest = lua_tointeger(L, -1) > largest ? lua_tointeger(L, -1) : largest;
        }
    }
    *sequence = integers == n && largest == n;
    *names = strings == n;
    return n;
}

static json_t *convert_sequence(struct conversion *c, lua_Integer n)
{
    json_t *list = json_array();
    for (lua_Integer i = 1; list && i <= n; i++) {
        lua_rawgeti(c->L, -1, i);
        json_t *value = convert(c, false);
        lua_pop(c->L, 1);
        if (!value || json_array_append_new(list, value) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Sets names[key] from the key and the value on top. */
static int convert_member(struct conversion *c, json_t *names, bool top)
{
    size_t size = 0;
    const char *key = lua_tolstring(c->L, -2, &size);
    if (strlen(key) != size || size > 200)
        return pkb_error_set(c->err, "a key holds a 0 byte or is longer than 200 bytes");
    json_t *value = convert(c, top);
    if (!value && top)
        (void)snprintf(c->field, 64, "%s", key);
    if (!value)
        return pkb_error_prefix(c->err, "%s", key);
    return json_object_set_new(names, key, value) < 0 ? pkb_error_set(c->err, "a key is not UTF-8") : 0;
}

static json_t *convert_names(struct conversion *c, bool top)
{
    json_t *names = json_object();
    if (!names)
        return NULL;
    lua_pushnil(c->L);
    while (lua_next(c->L, -2)) {
        if (convert_member(c, names, top) < 0) {
            lua_pop(c->L, 2);
            json_decref(names);
            return NULL;
        }
        lua_pop(c->L, 1);
    }
    return names;
}

static json_t *convert_table(struct conversion *c)
{
    bool sequence, names;
    if (c->depth >= MAX_DEPTH)
        return fail(c, "tables are nested too deeply (or hold themselves)");
    if (!lua_checkstack(c->L, 8))
        return fail(c, "out of memory");
    lua_Integer n = look(c->L, &sequence, &names);
    if (!sequence && !names)
        return fail(c, "a table must be a list without holes or have names only");
    c->depth++;
    json_t *value = sequence ? convert_sequence(c, n) : convert_names(c, false);
    c->depth--;
    return value;
}

/* The value on top of the stack. `top`: a member of the sweep's own table, where functions are allowed. */
static json_t *convert(struct conversion *c, bool top)
{
    if (++c->values > SWEEP_VALUES)
        return fail(c, "the sweep holds too many values (the limit is 200000)");
    switch (lua_type(c->L, -1)) {
    case LUA_TNUMBER:
        return convert_number(c);
    case LUA_TSTRING:
        return convert_string(c);
    case LUA_TBOOLEAN:
        return json_boolean(lua_toboolean(c->L, -1));
    case LUA_TTABLE:
        return convert_table(c);
    case LUA_TFUNCTION:
        return top ? json_null() : fail(c, "a function cannot be used here");
    default:
        return fail(c, "a value of this kind cannot be used here");
    }
}

json_t *sweep_value(lua_State *L, char field[64], struct pkb_error *err)
{
    struct conversion c = {.L = L, .field = field, .err = err};
    bool sequence, names;
    field[0] = '\0';
    pkb_error_set(err, "out of memory");
    if (!lua_checkstack(L, 8))
        return NULL;
    (void)look(L, &sequence, &names);
    if (!names) {
        pkb_error_set(err, "sweep { ... } takes named fields only: name = value");
        return NULL;
    }
    c.depth = 1;
    return convert_names(&c, true);
}
