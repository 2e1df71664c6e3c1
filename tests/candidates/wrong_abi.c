/* SPDX-License-Identifier: Apache-2.0 */
/* Was written for another version of the interface. */
#define PKB_NO_EXPORTS
#include <pkb/candidate.h>

PKB_EXPORT extern const uint32_t pkb_abi_version;
const uint32_t pkb_abi_version = PKB_ABI_VERSION + 41;
PKB_EXPORT int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out);

int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)
{
    (void)c;
    (void)in;
    (void)out;
    return 0;
}
