/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of machine_hwloc.c in builds without hwloc. */
#include "topology/machine.h"

int machine_read_hwloc(const char *xml, struct machine *m, struct pkb_error *err)
{
    (void)xml;
    (void)m;
    return pkb_error_set(err, "pkb was built without hwloc (configure --with-hwloc)");
}
