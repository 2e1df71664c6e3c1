/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/agree.h"

#include <stdio.h>
#include <stdlib.h>

struct vote {
    uint64_t bytes;
    uint64_t failed;
    char text[240];
};

int rt_agree(const struct rt_options *o, size_t bytes, int rc, const struct pkb_error *own, struct pkb_error *err)
{
    struct vote mine = {.bytes = bytes, .failed = rc != 0};
    if (rc)
        (void)snprintf(mine.text, sizeof(mine.text), "%.239s", own->text);
    if (o->world == 1)
        return rc ? pkb_error_set(err, "%s", mine.text) : 0;
    struct vote *all = calloc((size_t)o->world, sizeof(*all));
    if (!all)
        return pkb_error_set(err, "out of memory");
    int result = o->exchange(o->exchange_arg, &mine, sizeof(mine), all, err);
    for (int i = 0; i < o->world && result == 0; i++) {
        if (all[i].failed)
            result = pkb_error_set(err, "rank %d: %.239s", i, all[i].text);
        else if (all[i].bytes != bytes)
            result = pkb_error_set(err, "rank %d asks for %zu bytes, rank %d for %zu", o->rank, bytes, i, (size_t)all[i].bytes);
    }
    free(all);
    return result;
}
