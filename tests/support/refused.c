/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/refused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/array.h"

static struct operands make_operands(void)
{
    struct rt *own = array_runtime();
    assert_non_null(own);
    struct operands o = {
        .rt = own,
        .scalar = rt_new(own, PKB_F32, RT_SCALAR),
        .f1 = rt_new(own, PKB_F32, RT_SHAPE(1)),
        .f2 = rt_new(own, PKB_F32, RT_SHAPE(2)),
        .f3 = rt_new(own, PKB_F32, RT_SHAPE(3)),
        .f4 = rt_new(own, PKB_F32, RT_SHAPE(4)),
        .f23 = rt_new(own, PKB_F32, RT_SHAPE(2, 3)),
        .f24 = rt_new(own, PKB_F32, RT_SHAPE(2, 4)),
        .f34 = rt_new(own, PKB_F32, RT_SHAPE(3, 4)),
        .f35 = rt_new(own, PKB_F32, RT_SHAPE(3, 5)),
        .f48 = rt_new(own, PKB_F32, RT_SHAPE(4, 8)),
        .f124 = rt_new(own, PKB_F32, RT_SHAPE(1, 2, 4)),
        .f222 = rt_new(own, PKB_F32, RT_SHAPE(2, 2, 2)),
        .bf24 = rt_new(own, PKB_BF16, RT_SHAPE(2, 4)),
        .bool24 = rt_new(own, PKB_BOOL, RT_SHAPE(2, 4)),
        .i2 = rt_new(own, PKB_I32, RT_SHAPE(2)),
        .i4 = rt_new(own, PKB_I32, RT_SHAPE(4)),
        .i24 = rt_new(own, PKB_I32, RT_SHAPE(2, 4)),
        .i64_4 = rt_new(own, PKB_I64, RT_SHAPE(4)),
        .i64_24 = rt_new(own, PKB_I64, RT_SHAPE(2, 4)),
    };
    struct pkb_error err = {""};
    if (rt_status(own, &err))
        fail_msg("operands: %s", err.text);
    return o;
}

void refused_with(struct rt *own, const char *prefix, const char *text)
{
    struct pkb_error err = {""};
    size_t n = strlen(prefix);
    if (!rt_status(own, &err))
        fail_msg("accepted, expected: %s%s", prefix, text);
    if (strncmp(err.text, prefix, n) != 0 || strcmp(err.text + n, text) != 0)
        fail_msg("%s, expected: %s%s", err.text, prefix, text);
    rt_close(own);
}

void refused_check(const struct refused_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct operands o = make_operands();
        rows[i].call(&o);
        refused_with(o.rt, "", rows[i].text);
    }
}
